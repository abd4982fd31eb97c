/** Fills a service with accounts, keys, tasks of every status, providers and webhooks, through its API. */
import { setTimeout as sleep } from 'node:timers/promises'

import { Kinora, isKinoraError } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

import type { RunningService } from './start-service.ts'
import { vendorKey, type Upstreams } from './upstreams.ts'

interface Customer {
  accountId: string
  accountName: string
  /** A key with every scope, and its id. */
  key: string
  keyId: string
}

export interface Seed {
  url: string
  databaseUrl: string
  apiPid: number
  /** Has tasks of every status, webhooks and several keys. */
  customer: Customer
  /** Has one completed video. */
  otherCustomer: Customer
  operators: { admin: string; reader: string }
  tasks: {
    completed: string[]
    running: string
    queued: string
    failed: string
    /** The completed video of the other customer. */
    foreign: string
  }
  /** Completed and running videos of `vidB-2` are made by the built-in provider, those of this model by the vendor. */
  slowModel: string
  providers: { builtIn: string; vendor: string; withWrongKey: string }
  /** Of the provider with the wrong key. */
  rightProviderKey: string
  webhooks: { working: string; broken: string }
  upstreams: { vendor: string; strict: string; receiver: string }
}

const scopes: ('create' | 'read' | 'account')[] = ['create', 'read', 'account']
const slowModel = 'vidB-2-pro'
const dollars = (amount: number) => amount * 1_000_000

const prompts = [
  'A paper boat drifts down a rainy street, close to the water, evening light',
  'Slow pan over a misty pine forest at dawn',
  'A red kite above a wheat field, strong wind, wide shot',
]
const slowPrompts = {
  failed: 'A famous football player scores the winning goal',
  running: 'A lighthouse in a storm, waves against the rocks, seen from a boat',
  queued: ['A night train crosses a long bridge', 'Steam rises from a cup of tea on a windowsill'],
}

const createCustomer = async (
  admin: KinoraAdmin,
  name: string,
  balance: number,
): Promise<{ customer: Customer; kinora: Kinora }> => {
  const account = await admin.accounts.create({ name })
  await admin.accounts.topUp(account.id, { amount_micros: dollars(balance), reason: 'First payment' })
  const { key, secret } = await admin.keys.create(account.id, { kind: 'payg', name: 'Production', scopes })
  const kinora = new Kinora({ baseUrl: admin.baseUrl, apiKey: secret })
  return { customer: { accountId: account.id, accountName: name, key: secret, keyId: key.id }, kinora }
}

/** Waits until the status is no other than these. The time limit of the test or of the program ends it. */
export const waitForVideo = async (kinora: Kinora, id: string, ...statuses: string[]): Promise<void> => {
  for (;;) {
    const { status } = await kinora.videos.get(id)
    if (statuses.includes(status)) return
    if (['completed', 'failed'].includes(status)) throw new Error(`${id} is ${status}.`)
    await sleep(100)
  }
}

const ignoreErrors = async (work: Promise<unknown>) => {
  try {
    await work
    throw new Error('The request was accepted.')
  } catch (error) {
    if (!isKinoraError(error)) throw error
  }
}

const addProviders = async (admin: KinoraAdmin, { vendor, strictUrl }: Upstreams) => {
  await admin.providers.set('vendor', {
    ...{ kind: 'openai', base_url: vendor.url, api_key: 'the-key-of-the-slow-vendor', slots: 1 },
    ...{ poll_interval_ms_min: 250, poll_interval_ms_max: 1_000 },
  })
  await admin.models.setRoutes(slowModel, { routes: [{ provider: 'vendor' }] })
  await admin.providers.set('wrong-key', {
    kind: 'openai',
    base_url: strictUrl,
    api_key: 'an-outdated-key-of-the-vendor',
  })
}

/** Videos of every status. The vendor runs one job at a time, so the job that never ends keeps others waiting. */
const addVideos = async (kinora: Kinora, { vendor }: Upstreams) => {
  const create = async (model: string, prompt: string) =>
    (await kinora.videos.create({ model, prompt, seconds: 4, size: '480x480' })).id
  const completed = await Promise.all(prompts.map((prompt) => create('vidB-2', prompt)))
  vendor.faults.failCode = 'moderation_blocked'
  const failed = await create(slowModel, slowPrompts.failed)
  await waitForVideo(kinora, failed, 'failed')
  vendor.faults.failCode = ''
  vendor.faults.neverFinishes = true
  const running = await create(slowModel, slowPrompts.running)
  await waitForVideo(kinora, running, 'in_progress', 'processing')
  const [queued = ''] = await Promise.all(slowPrompts.queued.map((prompt) => create(slowModel, prompt)))
  return { completed, failed, running, queued }
}

const addWebhooks = async (kinora: Kinora, { receiverUrl, brokenReceiverUrl }: Upstreams) => {
  const events: ('video.completed' | 'video.failed')[] = ['video.completed', 'video.failed']
  const working = await kinora.webhooks.create({ url: receiverUrl, name: 'Studio', events })
  const broken = await kinora.webhooks.create({ url: brokenReceiverUrl, name: 'Archive', events })
  return { working: working.id, broken: broken.id }
}

const sendMistakes = async (kinora: Kinora, baseUrl: string) => {
  const strangers = new Kinora({ baseUrl, apiKey: `sk-${'0'.repeat(36)}`, maxRetries: 0 })
  const film = { prompt: 'A whale', seconds: 4, size: '480x480' } as const
  await ignoreErrors(kinora.videos.create({ ...film, model: 'vidB-9' }))
  await ignoreErrors(kinora.videos.create({ ...film, model: 'vidB-2', prompt: '' }))
  await ignoreErrors(kinora.videos.get('video_unknown'))
  await ignoreErrors(strangers.models.list())
}

export const seedService = async (service: RunningService, upstreams: Upstreams): Promise<Seed> => {
  const { url, keys, databaseUrl, apiPid } = service
  const admin = new KinoraAdmin({ baseUrl: url, apiKey: keys.admin })
  await addProviders(admin, upstreams)
  const { customer, kinora } = await createCustomer(admin, 'Northwind Studio', 240)
  const { customer: otherCustomer, kinora: otherKinora } = await createCustomer(admin, 'Harbor Films', 35)
  await admin.keys.create(customer.accountId, { kind: 'payg', name: 'Website', scopes: ['create', 'read'] })
  await admin.keys.create(customer.accountId, {
    ...{ kind: 'payg', name: 'Interns', scopes: ['create', 'read'], models: ['vidB-2'] },
    quota_micros: dollars(5),
  })
  const night = await admin.operatorKeys.create({ name: 'Night shift', role: 'admin', expires_at: null })
  const reader = await admin.operatorKeys.create({ name: 'Dashboard', role: 'read', expires_at: null })
  const webhooks = await addWebhooks(kinora, upstreams)
  const foreign = await otherKinora.videos.create({
    ...{ model: 'vidB-2', prompt: 'A confidential product on a turntable', seconds: 4, size: '480x480' },
  })
  const videos = await addVideos(kinora, upstreams)
  await sendMistakes(kinora, url)
  for (const id of videos.completed) {
    await waitForVideo(kinora, id, 'completed')
    // Posters are made when somebody asks for them.
    await (await kinora.videos.content(id, { variant: 'thumbnail' })).bytes()
  }
  await waitForVideo(otherKinora, foreign.id, 'completed')
  return {
    ...{ url, databaseUrl, apiPid, customer, otherCustomer, webhooks, slowModel },
    operators: { admin: night.secret, reader: reader.secret },
    tasks: { ...videos, foreign: foreign.id },
    providers: { builtIn: 'local', vendor: 'vendor', withWrongKey: 'wrong-key' },
    rightProviderKey: vendorKey,
    upstreams: {
      vendor: upstreams.vendor.url,
      strict: upstreams.strictUrl,
      receiver: upstreams.receiverUrl,
    },
  }
}
