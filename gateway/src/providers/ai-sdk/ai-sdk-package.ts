/** Loads the package of a vendor for the AI SDK. */
import { readFile } from 'node:fs/promises'
import { findPackageJSON, isBuiltin } from 'node:module'

import { member } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'

type Factory = (options: Record<string, unknown>) => unknown

/** Loads an installed package. */
export type Load = (name: string) => Promise<Record<string, unknown>>

/** Only packages made for the AI SDK: a setting must not be able to run any other installed package. */
export const loadInstalled: Load = async (name) => {
  const path = findPackageJSON(name, import.meta.url)
  const described: unknown = path === undefined ? undefined : JSON.parse(await readFile(path, 'utf8'))
  if (
    described !== undefined &&
    member(member(described, 'dependencies'), '@ai-sdk/provider') === undefined
  ) {
    throw new NotForTheSdk()
  }
  return (await import(name)) as Record<string, unknown>
}

class NotForTheSdk extends Error {
  override name = 'it is none for the AI SDK'
}

/** Returns the function of the package that creates its provider. */
export async function factoryOf(
  settings: { package: string; factory?: string | undefined },
  load: Load,
): Promise<Factory> {
  const name = settings.package
  let exported: Record<string, unknown>
  try {
    if (isBuiltin(name)) throw new Error('not a package')
    exported = await load(name)
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'error'
    const { code } = error as { code?: unknown }
    const sentence =
      code === 'ERR_MODULE_NOT_FOUND' || isBuiltin(name)
        ? `the package ${name} is not installed: run npm install ${name} beside Kinora`
        : `the package ${name} cannot be loaded: ${reason}`
    throw new ProviderFailure('not_delivered', sentence)
  }
  const makers = Object.keys(exported).filter((each) => /^create[A-Z]/.test(each))
  const chosen = settings.factory ?? (makers.length === 1 ? makers[0] : undefined)
  const factory = chosen === undefined || !makers.includes(chosen) ? undefined : exported[chosen]
  if (typeof factory === 'function') return factory as Factory
  const choice = makers.length === 0 ? 'none that makes a provider' : makers.join(', ')
  throw misfit(`factory must name a function of ${name}; it has ${choice}`)
}

/** The configuration or the reference does not fit; a retry would not help. */
export function misfit(message: string): ProviderFailure {
  return new ProviderFailure('rejected', message, { code: 'upstream_error' })
}
