export const texts = {
  checked: 'checked',
  tiles: {
    label: 'Now',
    running: {
      label: 'Running',
      slots: (slots: string) => `of ${slots} slots`,
      free: (free: string) => `${free} free`,
      full: 'all slots are taken',
      bar: (running: string, slots: string) => `${running} of ${slots} slots are taken`,
    },
    queued: {
      label: 'Queued',
      oldest: (wait: string) => `oldest waits ${wait}`,
      none: 'no task waits',
    },
    time: {
      label: 'Time to video',
      p95: (p95: string) => `p95 ${p95}, last hour`,
      none: 'no video in the last hour',
      picture: 'Median of the last 24 hours',
    },
    errors: {
      label: 'Error rate',
      of: (failed: string, ended: string) => `${failed} of ${ended} in the last hour`,
      none: 'nothing ended in the last hour',
      picture: (failed: string) => `${failed} videos failed in the last 24 hours`,
    },
    spend: {
      label: 'Spend today',
      charged: (amount: string) => `charged ${amount}`,
      budget: (charged: string, budget: string) => `${charged}, budget ${budget}`,
      unknown: (charged: string, count: string) => `${charged}, the cost of ${count} is unknown`,
      bar: 'Spent part of the daily budgets',
      help: 'What providers cost on this UTC day.',
    },
    storage: {
      label: 'Storage',
      objects: (count: number, shown: string) => (count === 1 ? '1 media file' : `${shown} media files`),
      none: 'not counted yet',
    },
  },
  chart: {
    title: 'Time to video',
    note: 'from the request to the stored video',
    median: 'median',
    band: 'up to p95',
    period: 'Period',
    periods: { '1h': '1 h', '6h': '6 h', '24h': '24 h' },
    showTable: 'As table',
    showChart: 'As chart',
    summary: (videos: string, median: string, p95: string) =>
      `${videos} videos in this period. In the last step with videos: median ${median}, p95 ${p95}.`,
    noVideos: 'No video was completed in this period.',
    now: 'now',
    reader: 'Five minutes that are read',
    reading: (time: string, median: string, p95: string, videos: string) =>
      `${time}: median ${median}, p95 ${p95}, ${videos} completed`,
    readingNone: (time: string) => `${time}: no video was completed`,
    columns: { time: 'From', median: 'Median', p95: 'p95', completed: 'Completed', failed: 'Failed' },
  },
  attention: {
    title: 'Needs attention',
    none: 'Nothing needs attention.',
    noneDetail: 'Providers, queues, money, keys and storage are checked all the time.',
    severities: { page: 'Act now', ticket: 'Act today', notice: 'Good to know' },
    since: 'since',
    runbook: 'Runbook',
    runbookFor: (title: string) => `Runbook: ${title}`,
    more: (count: number) => `Show ${count} more`,
    open: {
      provider: 'Provider',
      model: 'Model',
      key: 'Key',
      task: 'Task',
      tasks: 'Tasks',
      account: 'Keys of the account',
    },
  },
  providers: {
    title: 'Providers',
    note: 'last 60 minutes, one cell a minute',
    columns: {
      provider: 'Provider',
      health: 'Health',
      load: 'Running and queued',
      success: 'Success',
      p95: 'p95',
    },
    breaker: {
      closed: 'gets new jobs',
      half_open: 'breaker half open',
      open: 'breaker open',
    },
    disabled: 'disabled',
    load: (running: string, slots: string, queued: string) =>
      `${running} of ${slots} running, ${queued} queued`,
    loadBar: (name: string) => `Slots of ${name} that are taken`,
    empty: 'There is no provider yet.',
    emptyDetail: 'Add one, so that models have where to run.',
    add: 'Add a provider',
  },
  /** Texts of the service are English. Other languages replace them by their code; the subject is an id or a name. */
  attentionTexts: {} as Partial<
    Record<string, (subject: string, count: number) => { title: string; text: string }>
  >,
}
