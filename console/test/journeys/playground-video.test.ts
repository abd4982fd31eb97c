import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { minutes } from '../../../gateway/test/kit/time-limits.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'

const run = promisify(execFile)
const path = '/playground/video'
const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))

test('a video is priced, made, and still there after a reload', async () => {
  const page = await openConsole({ as: 'customer', path })
  await page.getByRole('combobox', { name: 'Prompt' }).fill('A whale in a calm ocean')
  await page.getByRole('radiogroup', { name: 'Seconds' }).getByText('4', { exact: true }).click()
  await page.getByText(/^4 s × /).waitFor()
  await page.keyboard.press('Control+Enter')
  await page.getByRole('heading', { name: 'In progress' }).waitFor()
  await page.reload()
  const result = page.getByRole('article', { name: 'A whale in a calm ocean' })
  await result.getByRole('link', { name: 'Download' }).waitFor({ timeout: minutes(3) })
  const player = result.getByRole('group', { name: 'Video: A whale in a calm ocean' })
  await player.getByRole('button', { name: 'Play' }).click()
  await player.getByRole('button', { name: 'Pause' }).waitFor()
  await result.getByRole('link', { name: 'Remix' }).click()
  await page.getByText('Remix of “A whale in a calm ocean”').waitFor()
  await expectClean(page)
})

test('a choice that the model cannot make names one that can', async () => {
  const page = await openConsole({ as: 'customer', path: `${path}?model=vidB-2` })
  await page.getByRole('radiogroup', { name: 'Size' }).getByText('1920×1080').click()
  const reason = page.getByRole('status').filter({ hasText: '1920×1080 needs' })
  await reason.getByRole('button', { name: /^Switch, then / }).click()
  await expect.poll(() => page.getByRole('radio', { name: '1920×1080' }).isChecked()).toBe(true)
  expect(
    await page
      .getByRole('radiogroup', { name: 'Model' })
      .getByRole('radio', { name: /^vidB-2 / })
      .isChecked(),
  ).toBe(false)
  await expectClean(page)
})

test('the code of a form runs as it is shown', async () => {
  const { url, customer } = await getSeed()
  const page = await openConsole({ as: 'customer', path })
  await page.getByRole('combobox', { name: 'Prompt' }).fill(`It's a "red" kite; $HOME \`above\` a field`)
  await page.getByRole('radiogroup', { name: 'Seconds' }).getByText('4', { exact: true }).click()
  const readCode = async (language: string) => {
    await page.getByRole('tab', { name: language }).click()
    return page.getByRole('tabpanel', { name: language }).locator('pre').innerText()
  }
  const folder = await mkdtemp(join(tmpdir(), 'kinora-code-'))
  try {
    await symlink(modules, join(folder, 'node_modules'))
    const environment = { ...process.env, KINORA_URL: url, KINORA_API_KEY: customer.key }
    const { stdout } = await run('sh', ['-c', await readCode('curl')], { cwd: folder, env: environment })
    expect(JSON.parse(stdout)).toMatchObject({
      enhanced_prompt: `It's a "red" kite; $HOME \`above\` a field`,
      ...{ model: 'vidB-2', seconds: 4 },
    })
    await writeFile(join(folder, 'make.mjs'), await readCode('Kinora client'))
    await run(process.execPath, ['make.mjs'], { cwd: folder, env: environment })
    expect((await stat(join(folder, 'video.mp4'))).size).toBeGreaterThan(10_000)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  await expectClean(page)
})

test('two models are compared with one prompt', async () => {
  const page = await openConsole({ as: 'customer', path: `${path}?compare=vidB-2,vidA2-fast` })
  await page.getByRole('combobox', { name: 'Prompt' }).fill('A dragon above a castle')
  await page.getByText('2 runs').waitFor()
  await page.getByRole('button', { name: 'Run both' }).click()
  for (const model of ['vidB-2', 'vidA2-fast'])
    await page
      .getByRole('article', { name: model, exact: true })
      .getByText('Completed')
      .waitFor({ timeout: minutes(3) })
  await page.getByRole('button', { name: 'Play all' }).click()
  await page.getByRole('button', { name: 'Pause all' }).waitFor()
  await expectClean(page)
})

test('the first steps show a video, and what is left to do', async () => {
  const page = await openConsole({ as: 'both', path: '/start' })
  await page.getByRole('heading', { name: 'It works. Kinora made this video.' }).waitFor()
  const steps = page.getByRole('region', { name: 'From here to production' })
  await steps.getByText('Make your own video').waitFor()
  await page.getByRole('button', { name: 'A train crossing a bridge' }).click()
  await expect
    .poll(() => page.getByRole('textbox', { name: 'Prompt' }).inputValue())
    .toBe('A train crossing a bridge')
  await expectClean(page)
})

test('nothing is wider than a phone, in Chinese too', async () => {
  for (const each of [path, '/start']) {
    const page = await openConsole({ as: 'customer', path: each, phone: true, language: 'zh' })
    await page.getByRole('button', { name: '生成' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await expectClean(page)
  }
})
