/** From the command in an empty folder to an own video that plays in the browser. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, inject, test } from 'vitest'

import { reserveDevPorts } from '../../../gateway/test/kit/reserve-ports.ts'
import { getBrowser, getSeed } from '../kit/console.ts'

const secondsMax = 120

test('a first video of one’s own plays in the browser within two minutes of `kinora dev`', async () => {
  // Builds the console, which is not part of the time.
  await getSeed()
  const browser = await getBrowser()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-first-run-'))
  const data = join(directory, 'data')
  const port = String(await reserveDevPorts(directory, data))
  const startedMs = performance.now()
  const steps: string[] = []
  const finish = (step: string) =>
    steps.push(`${((performance.now() - startedMs) / 1000).toFixed(1)} s  ${step}`)
  const child = spawn(
    process.execPath,
    [inject('command'), 'dev', '--json', '--no-models', '--no-open', '--port', port, '--data', data],
    {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DO_NOT_TRACK: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { url, keys } = JSON.parse(line.toString()) as { url: string; keys: { payg: string } }
    finish('the service is ready')
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' })
    context.setDefaultTimeout(300_000)
    const page = await context.newPage()
    await page.goto(`${url}/console/playground/video`)
    await page.getByLabel('API key').fill(keys.payg)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const prompt = page.getByRole('combobox', { name: 'Prompt' })
    await prompt.waitFor()
    finish('signed in')
    await prompt.fill('A whale swimming through a calm ocean at sunset')
    await page.getByRole('button', { name: /^Generate/ }).click()
    finish('a video is ordered')
    const video = page.locator('video').first()
    await video.waitFor()
    finish('the video is there')
    const play = (element: unknown) => {
      const media = element as { muted: boolean; play: () => Promise<void> }
      media.muted = true
      return media.play()
    }
    await video.evaluate(play)
    const readTime = () =>
      video.evaluate((element) => (element as unknown as { currentTime: number }).currentTime)
    await expect.poll(readTime).toBeGreaterThan(0.5)
    finish('the video plays')
    await context.close()
  } finally {
    console.log(steps.join('\n'))
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
    await rm(directory, { recursive: true, force: true })
  }
  expect(performance.now() - startedMs).toBeLessThan(secondsMax * 1_000)
})
