const rules = new Intl.PluralRules('en', { type: 'ordinal' })
const endings: Partial<Record<Intl.LDMLPluralRule, string>> = { one: 'st', two: 'nd', few: 'rd' }
const ordinal = (value: number) => `${value}${endings[rules.select(value)] ?? 'th'}`
const count = (value: number, noun: string) => `${value} ${noun}${value === 1 ? '' : 's'}`

export const texts = {
  view: { label: 'View', list: 'List', gallery: 'Gallery' },
  whose: { label: 'Whose tasks', own: 'My account', all: 'All accounts' },
  create: 'New video',
  search: { label: 'Search', prompt: 'Prompt or id', id: 'Task id' },
  filters: {
    status: 'Status',
    model: 'Model',
    key: 'Key',
    account: 'Account',
    provider: 'Provider',
    since: 'Time',
    until: 'Until',
    q: 'Search',
  },
  any: {
    status: 'All',
    model: 'All models',
    key: 'All keys',
    account: 'All accounts',
    provider: 'All providers',
    since: 'Any time',
  },
  periods: { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days' },
  since: (time: string) => `Since ${time}`,
  until: (time: string) => `Until ${time}`,
  columns: {
    select: 'Select',
    prompt: 'Prompt',
    task: 'Task',
    status: 'Status',
    model: 'Model, key',
    provider: 'Model, provider',
    account: 'Account, key',
    video: 'Video',
    time: 'Time',
    price: 'Price',
    age: 'Created',
  },
  seconds: (value: number) => `${value} s`,
  transcription: 'Transcription',
  video: 'Video',
  held: 'held',
  remix: 'Remix',
  place: (min: number, max: number) =>
    min === max
      ? min === 1
        ? 'Next in line'
        : `${ordinal(min)} in line`
      : `${ordinal(min)} to ${ordinal(max)}`,
  timeLeft: (time: string) => `up to ${time} left`,
  startsSoon: 'waiting',
  was: { progress: (per: number) => `was ${per} %`, processing: 'was processing', queued: 'was queued' },
  returned: (amount: string) => `${amount} charged`,
  fresh: (value: number, hasMore: boolean) =>
    `${value}${hasMore ? '+' : ''} new ${value === 1 ? 'task' : 'tasks'}`,
  freshKey: 'key .',
  list: 'Tasks',
  selectTask: (name: string) => `Select ${name}`,
  selectAll: 'Select all loaded tasks',
  pause: (seconds: number) =>
    `Too many requests at the moment. The list continues by itself after ${count(seconds, 'second')}.`,
  end: (value: number) => `${count(value, 'task')}, no more`,
  empty: {
    title: 'No tasks yet',
    detail: 'Every video appears here while it runs, with its timeline and its cost.',
    action: 'Make a video',
    samples: 'Or start with one of these prompts',
    prompts: [
      'A whale swims through a calm ocean at sunset',
      'A hot air balloon over golden dunes in the morning',
      'A paper boat floats down a street in the rain',
    ],
    operator: 'No account has created a task yet.',
  },
  none: {
    title: 'No task matches these filters',
    remove: (name: string, value: string) => `Remove ${name}: ${value}`,
    removeAll: 'Remove all filters',
  },
  bulk: {
    label: 'Selected tasks',
    selected: (value: number) => `${value} selected`,
    parts: { running: 'running', completed: 'completed', failed: 'failed', cancelled: 'cancelled' },
    cancel: (value: number) => `Cancel ${value}`,
    retry: (value: number, price: string) => `Retry ${value}, ${price}`,
    remove: (value: number) => `Delete ${count(value, 'video')}`,
    clear: 'Clear the selection',
    waits: 'Waits for the connection',
  },
  confirm: {
    cancel: {
      question: (value: number) => `Cancel ${count(value, 'running task')}?`,
      effect: (price: string) =>
        `They fail with task_cancelled. Nothing is charged, and ${price} that is held is released.`,
      action: (value: number) => `Cancel ${count(value, 'task')}`,
      done: (value: number) => `${count(value, 'task')} cancelled.`,
    },
    retry: {
      question: (value: number) => `Retry ${count(value, 'failed task')}?`,
      effect: (price: string) =>
        `New tasks with the same model, prompt, length and size are created. ${price} is held now, and charged when they are completed. Reference files and other options are not repeated.`,
      operatorEffect: (price: string) =>
        `New tasks with the same parameters are created. ${price} is held on the accounts, and charged when they are completed.`,
      action: (value: number, price: string) => `Retry ${count(value, 'task')}, ${price}`,
      done: (value: number) => `${count(value, 'task')} created.`,
    },
    remove: {
      question: (value: number) => `Delete ${count(value, 'video')}?`,
      effect: (price: string) =>
        `The videos, their prompts and their timelines are gone for good. What they cost, ${price}, stays charged.`,
      action: (value: number) => `Delete ${count(value, 'video')}`,
      done: (value: number) => `${count(value, 'video')} deleted.`,
    },
    progress: (done: number, all: number) => `${done} of ${all}`,
    failures: (value: number) => `${value} failed:`,
    again: (value: number) => `Try ${value} again`,
    copied: 'Id copied.',
  },
}
