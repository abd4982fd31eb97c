import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

interface Violation {
  id: string
  impact: string
  nodes: { html: string }[]
}

/** The serious findings about a screen. Themes differ only in contrast, which alone can be checked again. */
export const findBarriers = async (page: Page, rules: 'all' | 'contrast' = 'all'): Promise<string[]> => {
  await page.evaluate(axe)
  return page.evaluate(
    async (runOnly) => {
      const { run } = (
        globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } }
      ).axe
      const { violations } = await run({ runOnly })
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 300)}`))
    },
    rules === 'all' ? { type: 'tag', values: tags } : { type: 'rule', values: ['color-contrast'] },
  )
}
