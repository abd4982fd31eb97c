/** Delivers events to the endpoints of customers. */
import pLimit from 'p-limit'

import { findCharacter } from '../characters/character-store.ts'
import { idOfPublic } from '../characters/character.ts'
import { presentCharacter } from '../characters/present-character.ts'
import type { Config } from '../config.ts'
import type { Engine } from '../platform/engine/restate.ts'
import type { RunningSteps } from '../platform/engine/running-steps.ts'
import type { Log } from '../platform/log.ts'
import { observe } from '../platform/metrics/metrics.ts'
import type { Postgres } from '../platform/postgres.ts'
import { createSafePost } from '../safe-fetch/safe-post.ts'
import { createLinkSigner } from '../storage/signed-link.ts'
import { presentTranscriptionTask } from '../transcription-tasks/api/present-transcription-task.ts'
import { dayOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { findTranscription } from '../transcription-tasks/transcription-task-store.ts'
import { presentVideo, videoUrlOf } from '../videos/api/present-video.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { findTasks } from '../videos/task-store.ts'
import { createBuildBody, type ReadObject } from '../webhooks/deliveries/build-body.ts'
import { deliverWebhooks, deliverWebhooksName } from '../webhooks/deliveries/deliver-webhooks.ts'
import { endPending } from '../webhooks/deliveries/delivery-store.ts'
import { createSenderPermits } from '../webhooks/deliveries/sender-permits.ts'
import { createSender } from '../webhooks/deliveries/sender.ts'
import { deriveWebhookKeys } from '../webhooks/signing/webhook-keys.ts'

/** The most attempts at once of one endpoint. */
const attemptsAtOnceMax = 100
const claimMsMin = 5_000
/** The most connections to the database that webhooks use at once. */
const connectionsMax = 2

/** The secrets that seal those of endpoints, and from which the keys of the instance are derived. */
export const webhookSecretsOf = ({ CREDENTIAL_SECRETS, LINK_SECRETS }: Config) => [
  ...CREDENTIAL_SECRETS,
  ...LINK_SECRETS,
]

export const createWebhookPost = (config: Config) =>
  createSafePost({
    allowOrigins: config.WEBHOOK_ALLOW_ORIGINS,
    exemptsLoopback: config.WEBHOOK_ALLOW_LOOPBACK,
    requiresHttps: true,
    ports: [443, 8443],
    totalTimeoutMs: config.WEBHOOK_TIMEOUT_SECONDS * 1000,
    dnsServers: config.FETCH_DNS_SERVERS,
  })

export const createWebhookDelivery = async (
  config: Config,
  { postgres, engine, log }: { postgres: Postgres; engine: Engine; log: Log },
  taskDays: () => number,
  steps: RunningSteps,
) => {
  const links = createLinkSigner(config.LINK_SECRETS, config.publicUrl, config.LINK_SECONDS)
  const readVideo: ReadObject = async (accountId, id) => {
    const day = dayOfTaskId(id)
    if (day === undefined) return undefined
    const found = await findTasks(postgres, [{ id, day, accountId }], taskDays())
    const task = found.get(`${accountId}/${id}`)
    return task && presentVideo(task, videoUrlOf(links, task.mediaId), 'reference')
  }
  const readTranscriptionTask: ReadObject = async (accountId, id) => {
    const day = dayOfTranscription(id)
    const task = day === undefined ? undefined : await findTranscription(postgres, day, id)
    return task?.accountId === accountId ? presentTranscriptionTask(task) : undefined
  }
  const readCharacter: ReadObject = async (accountId, id) => {
    const characterId = idOfPublic(id)
    const character =
      characterId === undefined ? undefined : await findCharacter(postgres, accountId, characterId)
    return character && presentCharacter({ links, publicUrl: config.publicUrl }, character)
  }
  const permits = createSenderPermits(config.WEBHOOK_ATTEMPTS)
  const wake = (endpointId: string) => engine.wake(deliverWebhooksName, endpointId)
  const sealingSecrets = webhookSecretsOf(config)
  const databaseLimit = pLimit(connectionsMax)
  const send = createSender({
    postgres,
    databaseLimit,
    log,
    permits,
    wake,
    sealingSecrets,
    safePost: createWebhookPost(config),
    schedule: { pausesSeconds: config.WEBHOOK_RETRY_SECONDS },
    failingSecondsMax: config.WEBHOOK_FAILING_SECONDS,
    privateKeys: deriveWebhookKeys(sealingSecrets),
    buildBody: createBuildBody({
      video: readVideo,
      transcription_task: readTranscriptionTask,
      character: readCharacter,
    }),
    recordInProcess: steps.record,
    onDisabled: (endpointId) => endPending(postgres, endpointId),
  })
  const stopObserving = observe('kinora.webhooks.attempts.open', () => [[permits.taken(), {}]])
  const listening = await postgres.listen('webhook_deliveries', (endpointId) => {
    if (endpointId !== undefined) wake(endpointId)
  })
  const claimMs = Math.max(claimMsMin, 2_000 * config.WEBHOOK_TIMEOUT_SECONDS)
  return {
    service: deliverWebhooks({ postgres, databaseLimit, permits, send, attemptsAtOnceMax, claimMs }, steps),
    stop: async () => {
      stopObserving()
      await listening.stop()
    },
  }
}
