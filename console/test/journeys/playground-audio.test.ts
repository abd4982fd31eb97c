import { KinoraAdmin } from '@kinora/client/admin'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'

import { wave } from '../../../gateway/test/kit/sound.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'

const models = {
  speech: 'chat-4o-mini-tts-2025-12-15',
  transcription: 'asr-1',
  chat: 'chat-4o-audio-preview',
}

const openAdmin = async () => {
  const { url, operators } = await getSeed()
  return new KinoraAdmin({ baseUrl: url, apiKey: operators.admin })
}

// A vendor that does at once what its directives say, such as a pause between two parts.
beforeAll(async () => {
  const admin = await openAdmin()
  const { upstreams } = await getSeed()
  await admin.providers.set('sound-vendor', {
    ...{ kind: 'openai', base_url: upstreams.vendor, api_key: 'the-key-of-the-sound-vendor' },
  })
  for (const model of Object.values(models))
    await admin.models.setRoutes(model, { routes: [{ provider: 'sound-vendor' }] })
})

/** Fills a field, also while a person would still wait for the form. */
const write = (page: Page, label: string, text: string) =>
  page.getByRole('textbox', { name: label, exact: true }).fill(text)

test('a customer hears a text while it is generated, and keeps the takes', async () => {
  const page = await openConsole({ as: 'customer', path: '/playground/speech' })
  const speech = page.getByRole('region', { name: 'Speech' })
  const audible = 'The ships left before first light. vendor:chunks=30 vendor:pace=60'
  await write(page, 'Text', audible)
  await page.getByText(`${audible.length} of 4,096`).waitFor()
  await page.locator('form footer').getByText('USD').first().waitFor()
  await page.getByRole('button', { name: 'Speak' }).click()
  await speech.getByText('Done', { exact: true }).waitFor()
  await speech.getByText('First sound').waitFor()
  // The position moves while it plays, and the whole can be heard again.
  const position = speech.getByRole('slider', { name: 'Position in the take of alloy' })
  await expect.poll(async () => Number(await position.getAttribute('aria-valuenow'))).toBeGreaterThan(0.5)
  await speech.getByRole('button', { name: 'Play the take of alloy' }).click()
  await position.press('End')
  expect(
    await speech.getByRole('link', { name: 'Download the take of alloy' }).getAttribute('download'),
  ).toBe('alloy-1.mp3')
  // The provider stops sending in the middle.
  await write(page, 'Text', 'The town exhaled. vendor:stall')
  await page.getByRole('radio', { name: /^nova/ }).check({ force: true })
  await page.getByRole('button', { name: 'Speak' }).click()
  await speech.getByText('Streaming').waitFor()
  await speech.getByRole('button', { name: 'Stop' }).click()
  await speech.getByText('Stopped').waitFor()
  await page.getByRole('button', { name: 'Remove the take of alloy' }).waitFor()
  await page.getByRole('region', { name: 'curl' }).getByText('"voice": "nova"').waitFor()
  await expectClean(page)
})

test('a text over the limit cannot be sent', async () => {
  const page = await openConsole({ as: 'customer', path: '/playground/speech', phone: true })
  await write(page, 'Text', 'a'.repeat(4_097))
  await page.getByText('The text may have 4,096 characters.').waitFor()
  expect(await page.getByRole('button', { name: 'Speak' }).isDisabled()).toBe(true)
  await expectClean(page)
})

test('a customer reads a transcript, hears its lines, and takes it along in other formats', async () => {
  const page = await openConsole({ as: 'customer', path: '/playground/transcription' })
  await page.getByRole('button', { name: /^Drop or browse mp3/ }).waitFor()
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'harbour.wav', mimeType: 'audio/wav', buffer: wave(9) })
  await page.getByText('9 s of audio').waitFor()
  await page.locator('form').getByRole('button', { name: 'Transcribe' }).click()
  const lines = page.getByRole('list', { name: 'Segments of the transcript' })
  const line = lines.getByRole('button').nth(1)
  await line.click()
  await expect.poll(() => line.getAttribute('aria-current')).toBe('true')
  await page.getByRole('button', { name: 'Pause the recording' }).click()
  await page.getByRole('radio', { name: 'srt' }).check({ force: true })
  await page.getByRole('region', { name: 'srt' }).getByText('-->').first().waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download as srt' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('harbour.srt')
  await page.getByRole('radio', { name: 'None' }).check({ force: true })
  await page.locator('form').getByRole('button', { name: 'Transcribe' }).click()
  await page.getByRole('region', { name: 'Text' }).getByText('vendor transcript').waitFor()
  await expectClean(page)
})

test('a customer types and records turns of a chat', async () => {
  const page = await openConsole({ as: 'customer', path: '/playground/chat' })
  const turns = page.getByRole('list', { name: 'Conversation' }).getByRole('listitem')
  await write(page, 'Message', 'Who are you?')
  await page.locator('form footer').getByText('at most').waitFor()
  await page.getByRole('textbox', { name: 'Message', exact: true }).press('Enter')
  await turns.nth(1).getByRole('slider').waitFor()
  await page.getByRole('button', { name: 'Record a turn' }).click()
  await page.getByText(/^Recording, 0:0[1-9]/).waitFor()
  await page.getByRole('button', { name: 'Stop recording' }).click()
  await turns.nth(2).getByText('Spoken message').waitFor()
  await turns.nth(3).getByText('tokens').waitFor()
  await expectClean(page)
})

test('a subscription key is told how to get a reply nevertheless', async () => {
  const { url, customer } = await getSeed()
  const admin = await openAdmin()
  const { secret } = await admin.keys.create(customer.accountId, {
    ...{ kind: 'subscription', name: 'Subscription', scopes: ['create', 'read'] },
  })
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  await signIn(page.context(), url, [secret])
  await page.goto(`${url}/console/playground/chat`)
  await write(page, 'Message', 'Who are you?')
  await page.getByText('audio needs a pay-as-you-go key').first().waitFor()
  await page.getByRole('button', { name: 'Reply with text only' }).first().click()
  await expect.poll(() => page.getByRole('radio', { name: 'Text only' }).isChecked()).toBe(true)
  await expect.poll(() => page.getByText('audio needs a pay-as-you-go key').count()).toBe(0)
  await expectClean(page)
})
