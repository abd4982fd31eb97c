/**
 * `npm run console-pictures`: takes a picture of every screen of the web console in both themes, and of some on a phone, from
 * a service with the same content each time. They are in docs/console.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { chromium } from 'playwright-core'
import sharp from 'sharp'

import { getObservations, openPage } from '../console/test/kit/open-page.ts'
import { screens } from '../console/test/kit/screens.ts'
import { startSeededConsole } from '../console/test/kit/seeded-console.ts'
import { settle } from '../console/test/kit/settle.ts'

const directory = join(import.meta.dirname, '../docs/console')
const totalBytesMax = 3_000_000

await rm(directory, { recursive: true, force: true })
await mkdir(directory, { recursive: true })
await using started = await startSeededConsole()
const { seeded } = started
const browser = await chromium.connect(seeded.browserUrl)
let totalBytes = 0
const problems: string[] = []

for (const { name, as, path, isOnPhone } of screens) {
  for (const theme of ['light', 'dark'] as const) {
    for (const phone of isOnPhone === true ? [false, true] : [false]) {
      const page = await openPage(browser, seeded, { as, theme, phone, path: path(seeded) })
      await settle(page)
      const png = await page.screenshot({ animations: 'disabled' })
      const picture = await sharp(png).webp({ quality: 82, effort: 6 }).toBuffer()
      totalBytes += picture.length
      await writeFile(join(directory, `${name}-${theme}-${phone ? 390 : 1440}.webp`), picture)
      problems.push(...getObservations(page).problems.map((problem) => `${name}: ${problem}`))
      await page.context().close()
    }
  }
}
await browser.close()
console.log(`${Math.round(totalBytes / 1000)} kB in docs/console`)
if (totalBytes > totalBytesMax) problems.push(`The pictures have more than ${totalBytesMax} bytes.`)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
