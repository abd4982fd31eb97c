import { createLog } from '../../src/platform/log.ts'
import type { ProviderConfig } from '../../src/provider-config/config.ts'
import { createProviders } from '../../src/providers/registry.ts'
import { createRouter } from '../../src/routing/router.ts'
import { createProbeVideo } from '../../src/storage/probe-video.ts'
import { createDownloadPermits } from '../../src/videos/download-permits.ts'
import { settleVideo } from '../../src/videos/lifecycle/settle-video.ts'
import { createStepRecords } from '../../src/videos/lifecycle/step-records.ts'
import { storeResult } from '../../src/videos/lifecycle/store-result.ts'
import { submitVideo, type SubmitDependencies } from '../../src/videos/lifecycle/submit-video.ts'
import { mediaPrograms } from './media-programs.ts'
import { vendorKey, type VendorGateway } from './vendor-gateway.ts'
import { providerConfigAt } from './vendor-providers.ts'

const log = createLog({ level: 'silent' }, 'test')

/** The steps of a worker, whose only provider is the simulated vendor. No engine runs. */
export const startVendorWorker = async (
  gateway: VendorGateway,
  given: Partial<ProviderConfig> = {},
  apiKey = vendorKey,
) => {
  const { postgres } = gateway.database
  const query = async (text: string, values: unknown[] = []) =>
    (await postgres.query<Record<string, unknown>>(text, values)).rows
  const provider = providerConfigAt(gateway.vendor.url, apiKey, given)
  const config = { providers: [provider], models: {} }
  const liveConfig = { current: () => config, onChange: () => () => {} }
  const providers = createProviders(liveConfig, { ffmpegPath: 'ffmpeg' })
  const router = await createRouter({ liveConfig, providers, postgres, log })
  const dependencies = {
    ...{ postgres, providers, router, log, records: createStepRecords(postgres) },
    mediaStore: gateway.mediaStore,
    portraitsOf: async () => new Map(),
    webhookUrlOf: () => '',
    ...{ wakeDispatcher: () => {}, wakePoller: () => {}, announce: () => {}, onSlotFreed: () => {} },
    jobDurations: { of: () => undefined },
    stopping: new AbortController().signal,
    record: (work: () => Promise<unknown>) => work(),
    probeVideo: createProbeVideo(mediaPrograms(), async () => false),
    retentionMsOf: async () => 60_000,
    downloadPermits: createDownloadPermits({ total: 9, perProvider: 9 }),
    downloadPace: async () => undefined,
    downloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    slowDownloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    learnDuration: () => {},
    discardJob: async () => {},
    forgetCharacters: async () => [],
  }
  const runOf = async (id: string) =>
    Number((await query('select run from open_tasks where task_id = $1', [id]))[0]?.['run'])
  const settle = async (id: string) => {
    const ending = await storeResult(dependencies, id, await runOf(id))
    if (ending.kind !== 'stop') await settleVideo(dependencies, id, ending)
    return ending
  }
  return {
    router,
    /** Submits a task like its first run. */
    submit: async (id: string) => {
      await query(`update open_tasks set stage = 'starting', run = 1 where task_id = $1`, [id])
      const submitted = await submitVideo(dependencies as SubmitDependencies, id, 1)
      if (submitted.kind === 'outcome_known') await settle(id)
    },
    settle,
    /** Ends a task like the run that begins at its deadline. */
    end: async (id: string) => {
      await query(`update open_tasks set deadline_at = now() where task_id = $1`, [id])
      return settle(id)
    },
    [Symbol.asyncDispose]: () => router.stop(),
  }
}
