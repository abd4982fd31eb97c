/** `kinora config check`: reads the settings and the providers file as the service would at its start. */
import { resolve } from 'node:path'

import { ConfigError, environmentIn, loadConfig } from '@kinora/gateway/config'

import { escapeControls } from '../frame/safe-text.ts'
import { print, printJson, style } from '../terminal/print.ts'

const invalid = 78

const collect = (environment: ReturnType<typeof environmentIn>) => {
  try {
    const { warnings } = loadConfig(environment)
    return { problems: [], warnings }
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, warnings: [] }
    throw error
  }
}

export const checkConfig = ({ file, json }: { file: string | undefined; json: boolean }): number => {
  const environment = environmentIn(process.cwd())
  const chosen = file === undefined ? undefined : resolve(file)
  const found = collect(chosen === undefined ? environment : { ...environment, PROVIDERS_FILE: chosen })
  // With a file, only that is checked, so that it can be done without the settings of the service.
  const isOfFile = (problem: string) =>
    problem.startsWith(`${chosen}:`) || problem.startsWith('PROVIDERS_FILE ')
  const problems = chosen === undefined ? found.problems : found.problems.filter(isOfFile)
  const warnings = chosen === undefined ? found.warnings : []
  const ok = problems.length === 0
  if (json) printJson({ ok, problems, warnings })
  else {
    for (const problem of problems) print(`${style('red', '✗')} ${escapeControls(problem)}`)
    for (const text of warnings) print(`${style('yellow', '▲')} ${escapeControls(text)}`)
    if (ok) print(`${style('green', '✓')} ${chosen ?? 'The configuration'} is valid.`)
  }
  return ok ? 0 : invalid
}
