/**
 * Markup in everything that customers, operators, browsers and providers can write, on every screen: it is visible as text,
 * adds no element, runs nothing and calls nobody.
 */
import { Kinora } from '@kinora/client'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { listenForTest, type TestServer } from '../../../gateway/test/kit/listen-for-test.ts'
import { addModel, openAdmin } from '../kit/clients.ts'
import { expectClean, getBrowser, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'
import { screens } from '../kit/screens.ts'
import { waitForVideo } from '../kit/seed.ts'
import { settle } from '../kit/settle.ts'
import { markup } from './markup.ts'

/** The kinds of texts, each with its part of the markup. */
const parts = {
  prompts: markup,
  keys: markup.slice(0, 25),
  webhooks: markup.slice(25, 45),
  account: markup.slice(45, 46),
  userAgents: markup.slice(46, 60),
  providerErrors: markup.slice(60, 70),
  fileNames: markup.filter((text) => !text.includes('/')).slice(0, 5),
}

/** A provider that refuses every request with markup. */
let provider: TestServer
let accountId: string
let key: string
let taskIds: string[]
let failedId: string

const model = 'planted-markup'

const addProvider = async () => {
  let next = 0
  provider = await listenForTest((_request, response) => {
    const text = parts.providerErrors[next % parts.providerErrors.length] ?? ''
    next += 1
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: text, type: text, code: text, param: text } }))
  })
  const admin = await openAdmin()
  await admin.providers.set(model, {
    kind: 'openai',
    base_url: provider.url,
    api_key: 'a-key-of-the-planted-provider',
  })
  await addModel(admin, model, model)
}

beforeAll(async () => {
  const { url, slowModel } = await getSeed()
  const admin = await openAdmin()
  const account = await admin.accounts.create({ name: parts.account[0] ?? '' })
  accountId = account.id
  await admin.accounts.topUp(accountId, { amount_micros: 1_000_000_000, reason: markup[0] ?? '' })
  const { secret } = await admin.keys.create(accountId, {
    ...{ kind: 'payg', name: 'First', scopes: ['create', 'read', 'account'] },
  })
  key = secret
  const kinora = new Kinora({ baseUrl: url, apiKey: key })
  for (const name of parts.keys) await kinora.keys.create({ name })
  for (const name of parts.webhooks) {
    const query = encodeURIComponent(name)
    await kinora.webhooks.create({ url: `http://127.0.0.1:9/?q=${query}`, name, events: ['video.completed'] })
  }
  const film = { seconds: 4, size: '480x480' } as const
  // Many texts in each prompt, because every task is a screen that is opened.
  const halves = [parts.prompts.slice(0, 50), parts.prompts.slice(50)].map((texts) => texts.join('\n'))
  taskIds = []
  for (const prompt of halves) {
    const metadata = { [`note ${taskIds.length}`]: prompt.slice(0, 500) }
    taskIds.push((await kinora.videos.create({ ...film, model: slowModel, prompt, metadata })).id)
  }
  await addProvider()
  failedId = (await kinora.videos.create({ ...film, model, prompt: parts.prompts.join('\n') })).id
  await waitForVideo(kinora, failedId, 'failed')
  for (const userAgent of parts.userAgents) {
    const context = await (await getBrowser()).newContext({ userAgent })
    await signIn(context, url, [key])
    await context.close()
  }
})

afterAll(async () => {
  const { url } = await getSeed()
  const kinora = new Kinora({ baseUrl: url, apiKey: key })
  for (const id of taskIds) await kinora.videos.cancel(id)
  const admin = await openAdmin()
  await admin.models.deleteRoutes(model)
  await admin.models.delete(model)
  await admin.providers.delete(model)
  await admin.accounts.erase(accountId)
  await provider[Symbol.asyncDispose]()
})

/** What of the markup has become part of the page. */
const findPlanted = (page: Page) =>
  page.evaluate(() => {
    const { document, planted } = globalThis as unknown as {
      document: { querySelectorAll: (selector: string) => Iterable<{ outerHTML: string }> }
      planted?: number
    }
    const elements = document.querySelectorAll(
      '[data-planted], [href^="javascript:" i], [src^="javascript:" i]',
    )
    return [...elements]
      .map(({ outerHTML }) => outerHTML.slice(0, 200))
      .concat(planted === undefined ? [] : ['it ran'])
  })

/** The texts of a page, with the values of its fields and its labels. */
const readTexts = (page: Page) =>
  page.evaluate(() => {
    interface Element {
      value?: string
      getAttribute: (name: string) => string | null
    }
    const { document } = globalThis as unknown as {
      document: { body: { textContent: string }; querySelectorAll: (selector: string) => Iterable<Element> }
    }
    const fields = [...document.querySelectorAll('input, textarea, [title]')]
    const values = fields.map((field) => `${field.value ?? ''} ${field.getAttribute('title') ?? ''}`)
    return [document.body.textContent, ...values].join('\n').replaceAll(/\s+/g, ' ')
  })

/** The texts and the labels of a page. */
const readLabels = async (page: Page) => {
  const labels = await page
    .locator('[aria-label]')
    .evaluateAll((elements) =>
      elements.map((element) => (element as unknown as { ariaLabel: string }).ariaLabel),
    )
  return `${await readTexts(page)} ${labels.join(' ')}`
}

const sweep = async (page: Page, paths: string[]) => {
  const { url } = await getSeed()
  let texts = ''
  for (const path of paths) {
    await page.goto(`${url}/console${path}`)
    await settle(page)
    expect(await findPlanted(page), path).toEqual([])
    texts += await readTexts(page)
  }
  return texts
}

const taskPaths = (ids: string[]) => ids.map((id) => `/tasks/${encodeURIComponent(id)}`)
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')
const findMissing = (texts: string, expected: string[]) =>
  expected.filter((text) => !texts.includes(oneLine(text)))

test('the screens of a customer show it as text', async () => {
  const seed = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  await signIn(page.context(), seed.url, [key])
  const others = screens.filter(({ as }) => as === 'customer').map(({ path }) => path(seed))
  const texts = await sweep(page, [...taskPaths([...taskIds, failedId]), ...others])
  const { prompts, account, keys, webhooks, userAgents } = parts
  for (const [name, expected] of Object.entries({ prompts, account, keys, webhooks, userAgents }))
    expect.soft(findMissing(texts, expected), name).toEqual([])
  await expectClean(page)
})

test('the screens of an operator show it as text', async () => {
  const seed = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/tasks' })
  const others = screens.filter(({ as }) => as === 'operator').map(({ path }) => path(seed))
  const own = [`/tasks?account=${accountId}`, `/keys?account=${accountId}`, `/providers?name=${model}`]
  const texts = await sweep(page, [...taskPaths([failedId]), ...others, ...own])
  const { account, keys } = parts
  // Operators see the beginning of a prompt.
  const prompts = parts.prompts.slice(0, 10)
  for (const [name, expected] of Object.entries({ prompts, account, keys }))
    expect.soft(findMissing(texts, expected), name).toEqual([])
  // The provider has sent one of them each time that it was asked.
  expect(findMissing(texts, parts.providerErrors).length).toBeLessThan(parts.providerErrors.length)
  await expectClean(page)
})

test.each(['/playground/video', '/playground/transcription'])(
  '%s shows the names of files as text',
  async (path) => {
    const page = await openConsole({ as: 'customer', path })
    await settle(page)
    const before = await readTexts(page)
    const isAudio = path.endsWith('transcription')
    const [mimeType, ending] = isAudio ? ['audio/wav', '.wav'] : ['image/png', '.png']
    for (const name of isAudio ? parts.fileNames : parts.fileNames.slice(0, 3)) {
      const file = { name: name + ending, mimeType, buffer: Buffer.from('no media') }
      await page.locator('input[type=file]').first().setInputFiles(file)
      await expect.poll(() => readTexts(page)).not.toBe(before)
      await settle(page)
      expect(await findPlanted(page)).toEqual([])
      expect(await readLabels(page)).toContain(name)
    }
    await expectClean(page)
  },
)
