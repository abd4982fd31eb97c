/** A gateway in this process whose provider sends webhooks. The test signs them with the vendor's key. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createFalSigner, type Claims, type FalSigner } from '../../../dev/vendor/fal-signature.ts'
import type { Environment } from '../../src/config.ts'
import { Secret } from '../../src/platform/secret.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { recordSubmitted } from '../../src/videos/lifecycle/submit-store.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { createWebhookUrls } from '../../src/webhooks/inbound/webhook-url.ts'
import { ask, askJson, type Answer } from './answers.ts'
import { createAccount, createKey, linkSecret } from './factories.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

export interface Delivered {
  url: string
  headers: Record<string, string>
  body: string
}

export interface WebhookGateway extends TestGateway {
  signer: FalSigner
  accountId: string
  /** The key that creates the tasks. */
  key: string
  /** Every request to the vendor, except for its public keys. */
  requests: string[]
  /** The settings for another gateway on the same database with the same providers. */
  environment: Environment
  /** Creates a task at the provider and returns its id. */
  create: () => Promise<string>
  /** Records the job of a task like its submit would, with the next poll due in an hour. */
  submitted: (taskId: string, jobId: string) => Promise<void>
  refOf: (jobId: string) => { id: string; app: string }
  /** A correctly signed delivery of a job's end to the URL of a task. */
  webhookOf: (taskId: string, jobId: string, claims?: Partial<Claims>) => Delivered
  deliver: (delivered: Delivered) => Promise<Answer>
}

const app = 'maker/film'

/** The provider is `queue`. Another one of the same kind, `other`, has a different signing key. */
export const startWebhookGateway = async (models: Record<string, object> = {}): Promise<WebhookGateway> => {
  const signer = createFalSigner()
  const otherSigner = createFalSigner()
  const requests: string[] = []
  const vendor = createServer((request, response) => {
    const path = request.url ?? ''
    const keys = { '/keys': signer, '/other-keys': otherSigner }[path]?.jwks()
    if (keys === undefined) requests.push(`${request.method} ${path}`)
    response.writeHead(keys === undefined ? 202 : 200).end(JSON.stringify(keys ?? {}))
  })
  await new Promise<void>((resolve) => {
    vendor.listen(0, '127.0.0.1', resolve)
  })
  const vendorUrl = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const directory = await mkdtemp(join(tmpdir(), 'kinora-webhooks-'))
  const file = join(directory, 'providers.yaml')
  const provider = { kind: 'fal', baseUrl: vendorUrl, apiKey: 'key-of-tests', webhooks: true }
  const providers = {
    queue: { ...provider, jwksUrl: `${vendorUrl}/keys` },
    other: { ...provider, jwksUrl: `${vendorUrl}/other-keys` },
  }
  await writeFile(file, JSON.stringify({ providers, models }))
  const gateway = await startGateway({ PROVIDERS_FILE: file })
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance: 100_000 })
  const key = await createKey(postgres, accountId)
  const links = createWebhookUrls([new Secret(linkSecret)], gateway.url)
  const refOf = (jobId: string) => ({ id: jobId, app })
  return {
    ...gateway,
    environment: { PROVIDERS_FILE: file },
    signer,
    accountId,
    key: key.text,
    requests,
    refOf,
    create: async () => {
      const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
      return String((await askJson(`${gateway.url}/v1/videos`, key.text, order)).body['id'])
    },
    submitted: async (taskId, jobId) => {
      await recordSubmitted(postgres, [
        { taskId, provider: 'queue', upstream: refOf(jobId), firstPollMs: 3_600_000 },
      ])
      await markProcessing(postgres, videoTables, [{ day: dayOfTaskId(taskId) ?? '', id: taskId }])
    },
    webhookOf: (taskId, jobId, claims = {}) => {
      const body = JSON.stringify({
        request_id: jobId,
        status: 'OK',
        payload: { video: { url: 'https://f/1' } },
      })
      return {
        url: `${links.urlFor('queue', taskId)}&note=${encodeURIComponent(app)}`,
        headers: signer.headersOf(body, { requestId: jobId, ...claims }),
        body,
      }
    },
    deliver: ({ url, headers, body }) =>
      ask(url, undefined, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      }),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]()
      vendor.closeAllConnections()
      await new Promise<void>((resolve) => {
        vendor.close(() => resolve())
      })
      await rm(directory, { recursive: true, force: true })
    },
  }
}
