/** Divides every time in the rules and in the example of Alertmanager, so that alerts need not be awaited for hours. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { parse, stringify } from 'yaml'

import { folder, readRuleFile, ruleFiles } from '../../../tools/observability/read-rules.ts'

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const scaleTime = (time: string, factor: number): string => {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(time) ?? []
  const ms = (Number(count) * (unitMs[unit] ?? Number.NaN)) / factor
  if (!(ms > 0)) throw new Error(`not a time: ${time}`)
  return `${Math.ceil(ms)}ms`
}

/** Writes the rules with ranges, `for` and intervals divided by the factor. Limits of values stay, such as ages and shares. */
export const writeScaledRules = async (directory: string, factor: number): Promise<string> => {
  await mkdir(directory, { recursive: true })
  for (const path of ruleFiles) {
    const groups = readRuleFile(path).groups.map(({ interval, rules, ...group }) => ({
      ...group,
      ...(interval !== undefined && { interval: '1s' }),
      rules: rules.map((rule) => ({
        ...rule,
        expr: rule.expr.replaceAll(/\[(\w+)\]/g, (_, range: string) => `[${scaleTime(range, factor)}]`),
        ...(rule.for !== undefined && { for: scaleTime(rule.for, factor) }),
      })),
    }))
    await writeFile(join(directory, basename(path)), stringify({ groups }))
  }
  return join(directory, '*.yml')
}

const waits = ['group_wait', 'group_interval', 'repeat_interval']

/** Writes the example of Alertmanager with its waits divided by the factor, and its receivers at this address. */
export const writeScaledAlertmanager = async (file: string, factor: number, url: string): Promise<void> => {
  const text = await readFile(join(folder, 'alertmanager/alertmanager.yml'), 'utf8')
  const config = parse(text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, url), (key, value: unknown) =>
    typeof value === 'string' && waits.includes(String(key)) ? scaleTime(value, factor) : value,
  ) as object
  await writeFile(file, stringify(config))
}
