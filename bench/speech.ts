/** What the gateway adds to a request for speech, against Portkey and against the vendor without a gateway. */
import { apiKey } from '../gateway/test/faults/fault-stack.ts'
import { reservePorts } from '../gateway/test/kit/reserve-ports.ts'
import { startPortkey } from './baselines/portkey.ts'
import { measureLoad, startBenchStack } from './bench-stack.ts'
import { cpuMsOf } from './measure/cpu-time.ts'
import type { RequestOf } from './measure/load.ts'
import { measureInTurns, type Rounds } from './measure/rounds.ts'

type Arm = 'kinora' | 'portkey' | 'direct'

export interface SpeechFigures {
  'one caller': Rounds<Arm>
  '32 callers': Rounds<Arm>
}

const body = JSON.stringify({
  model: 'chat-4o-mini-tts-2025-12-15',
  voice: 'nova',
  input: 'The ships left before first light. vendor:pace=0 vendor:chunks=1',
  response_format: 'mp3',
})

const speechWith =
  (headersOf: (index: number) => Record<string, string>): RequestOf =>
  (index) => ({
    method: 'POST',
    path: '/v1/audio/speech',
    headers: { 'content-type': 'application/json', ...headersOf(index) },
    body,
  })

export const measureSpeech = async ({
  rounds,
  ms,
}: {
  rounds: number
  ms: number
}): Promise<SpeechFigures> => {
  await using bench = await startBenchStack()
  const { stack, keys, origin, cpu } = bench
  await stack.workers[0].kill()
  const vendorUrl = stack.vendors.repeatable.url
  const { portkey: port } = await reservePorts(stack.directory, ['portkey'])
  using portkey = await startPortkey(port)
  const ours = speechWith((index) => ({ authorization: `Bearer ${keys[index % keys.length]?.text}` }))
  const theirs = speechWith(() => portkey.headersFor(vendorUrl, apiKey))
  const direct = speechWith(() => ({ authorization: `Bearer ${apiKey}` }))

  const measureWith = (connections: number) => {
    const options = { connections, until: { ms } }
    return measureInTurns(
      {
        kinora: async () => (await measureLoad(cpu, origin, ours, options)).figures,
        portkey: async () =>
          (await measureLoad(() => ({ gateway: cpuMsOf(portkey.pid) }), portkey.origin, theirs, options))
            .figures,
        direct: async () => (await measureLoad(() => ({}), vendorUrl, direct, options)).figures,
      },
      rounds,
    )
  }
  return { 'one caller': await measureWith(1), '32 callers': await measureWith(32) }
}
