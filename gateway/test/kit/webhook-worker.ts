/** Delivers webhooks of a gateway like a worker does, without an engine: each notification and each wake-up is a tick. */
import pLimit from 'p-limit'
import pino from 'pino'
import { expect } from 'vitest'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createSafePost } from '../../src/safe-fetch/safe-post.ts'
import { createBuildBody, type ReadObject } from '../../src/webhooks/deliveries/build-body.ts'
import { deliverDue } from '../../src/webhooks/deliveries/deliver-webhooks.ts'
import { createSenderPermits } from '../../src/webhooks/deliveries/sender-permits.ts'
import { createSender } from '../../src/webhooks/deliveries/sender.ts'
import { deriveWebhookKeys } from '../../src/webhooks/signing/webhook-keys.ts'
import { linkSecret } from './factories.ts'
import type { TestGateway } from './start-gateway.ts'

export interface WebhookWorker extends AsyncDisposable {
  /** Waits until no attempt is under way. */
  untilSent: () => Promise<void>
}

const attemptsAtOnceMax = 100

export const startWebhookWorker = async (
  { database: { postgres } }: Pick<TestGateway, 'database'>,
  {
    readers = {},
    pausesSeconds = [60],
  }: { readers?: Record<string, ReadObject>; pausesSeconds?: number[] } = {},
): Promise<WebhookWorker> => {
  const sealingSecrets = [new Secret(linkSecret)]
  const permits = createSenderPermits(attemptsAtOnceMax)
  const underWay = new Set<Promise<unknown>>()
  const send = createSender({
    ...{ postgres, databaseLimit: pLimit(2), permits, sealingSecrets },
    log: pino({ level: 'silent' }),
    schedule: { pausesSeconds },
    failingSecondsMax: 86_400,
    safePost: createSafePost({ allowOrigins: [], exemptsLoopback: true }),
    privateKeys: deriveWebhookKeys(sealingSecrets),
    buildBody: createBuildBody(readers),
    recordInProcess: async (work) => {
      const working = work()
      underWay.add(working)
      return working.finally(() => underWay.delete(working))
    },
    wake: (endpointId) => tick(endpointId),
    onDisabled: async () => undefined,
  })
  const dependencies = {
    postgres,
    databaseLimit: pLimit(2),
    permits,
    send,
    attemptsAtOnceMax,
    claimMs: 30_000,
  }
  const tick = (endpointId: string) => {
    const ticking = deliverDue(dependencies, endpointId, uuidV7())
    underWay.add(ticking)
    void ticking.finally(() => underWay.delete(ticking))
  }
  const listening = await postgres.listen('webhook_deliveries', (endpointId) => {
    if (endpointId !== undefined) tick(endpointId)
  })
  return {
    untilSent: () => expect.poll(() => underWay.size).toBe(0),
    [Symbol.asyncDispose]: async () => {
      await listening.stop()
      // The end of an attempt may start a tick.
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}
