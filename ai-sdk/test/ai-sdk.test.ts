/** The functions of the AI SDK with our models, against a gateway whose provider is the simulated vendor. */
import { experimental_generateVideo as generateVideo } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { brokenInvariants } from '../../gateway/test/kit/ledger.ts'
import { startVendorGateway, type VendorGateway } from '../../gateway/test/kit/vendor-gateway.ts'
import { aiSdk, aiSdkOpenAi } from '../../tools/clients/ai-sdk.ts'
import { compatibilityRows } from '../../tools/clients/behaviour.ts'
import { checkedInRows, sortRows } from '../../tools/compatibility.ts'
import { createKinora } from '../src/kinora.ts'
import { completeVideos } from './complete-videos.ts'

let gateway: VendorGateway
let completing: AsyncDisposable
let key: string

beforeAll(async () => {
  // The SDK prints its warnings otherwise.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  gateway = await startVendorGateway()
  completing = completeVideos(gateway)
  const accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  key = (await createKey(gateway.database.postgres, accountId)).text
})
afterAll(async () => {
  await completing[Symbol.asyncDispose]()
  expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  await gateway[Symbol.asyncDispose]()
})

for (const { library, behaviours } of [aiSdk, aiSdkOpenAi]) {
  describe(library, () => {
    test.each(behaviours)('$name', ({ run }) => run(gateway.url, key))
  })
}

test('docs/compatibility.json has exactly the functions that were called here', () => {
  const provedBy = 'ai-sdk/test/ai-sdk.test.ts'
  const found = [aiSdk, aiSdkOpenAi].flatMap((library) => compatibilityRows(library, provedBy))
  expect(sortRows(found)).toEqual(sortRows(checkedInRows(provedBy, found)))
})

test('the webhook of a call is that of the task, and its arrival ends the wait', async () => {
  let arrive: (event: { headers: Record<string, string>; body: null }) => void = () => undefined
  const received = new Promise<{ headers: Record<string, string>; body: null }>((resolve) => {
    arrive = resolve
  })
  const model = createKinora({ baseURL: gateway.url, apiKey: key }).video('vidB-2')
  const url = 'https://example.com/from-the-ai-sdk'
  const made = generateVideo({
    ...{ model, prompt: 'A whale', duration: 4, resolution: '480x480' },
    webhook: async () => ({ url, received }),
  })
  const deliveries = async () =>
    (await gateway.database.postgres.query('select from webhook_deliveries where url = $1', [url])).rows
      .length
  await expect.poll(deliveries).toBe(1)
  arrive({ headers: {}, body: null })
  expect((await made).video.mediaType).toBe('video/mp4')
})
