import { readForTest } from '../kit/access/access-calls.ts'
import type { Access } from '../port/access.ts'
import { geminiApi, type GeminiSettings } from './gemini-api.ts'

/** Lists one model: the vendor's own for a key, those of the project for an account, which also verifies the project. */
export function geminiAccess(settings: GeminiSettings): Access {
  const { upstream, host, modelsPath, authorization } = geminiApi({ ...settings, connections: 1 })
  return {
    host,
    check: async (signal) => {
      await readForTest(upstream, `${modelsPath()}?pageSize=1`, signal, await authorization(signal))
      return { kind: 'accepted' }
    },
  }
}
