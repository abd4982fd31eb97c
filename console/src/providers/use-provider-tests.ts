/** The tests of the providers on this page. They run one after the other. */
import { useCallback, useState } from 'react'

import { kinoraAdmin } from '../service.ts'
import { refreshProviders } from './provider-data.ts'
import type { TestRun } from './test-panel.tsx'

const now = () => Math.floor(Date.now() / 1_000)

export interface ProviderTests {
  runs: ReadonlyMap<string, TestRun>
  run: (...names: string[]) => Promise<void>
  forget: (name: string) => void
}

const runTest = async (name: string): Promise<TestRun> => {
  try {
    const test = await kinoraAdmin.providers.test(name)
    return { isRunning: false, testedAt: now(), test }
  } catch (error) {
    return { isRunning: false, testedAt: now(), error }
  }
}

export const useProviderTests = (): ProviderTests => {
  const [runs, setRuns] = useState<ReadonlyMap<string, TestRun>>(new Map())
  const run = useCallback(async (...names: string[]) => {
    const set = (name: string, latest: TestRun) => setRuns((earlier) => new Map(earlier).set(name, latest))
    for (const name of names) set(name, { isRunning: true, testedAt: now() })
    for (const name of names) set(name, await runTest(name))
    await refreshProviders()
  }, [])
  const forget = useCallback((name: string) => {
    setRuns((earlier) => new Map([...earlier].filter(([each]) => each !== name)))
  }, [])
  return { runs, run, forget }
}
