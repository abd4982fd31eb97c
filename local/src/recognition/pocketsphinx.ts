import path from 'node:path'
import { createInterface } from 'node:readline'

import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import { startProgram, type FfmpegTool } from '../ffmpeg/sandbox.ts'

const model = '/usr/share/pocketsphinx/model/en-us'

/** Yields English words without punctuation or capitals, one utterance after the other. */
export async function* recogniseWithPocketsphinx(
  programPath: string,
  tool: FfmpegTool,
  samplesPath: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const args = [
    ...['-infile', path.basename(samplesPath), '-logfn', '/dev/null', '-hmm', `${model}/en-us`],
    ...['-lm', `${model}/en-us.lm.bin`, '-dict', `${model}/cmudict-en-us.dict`],
  ]
  signal.throwIfAborted()
  const program = { ...tool, path: programPath }
  const child = startProgram(program, path.dirname(samplesPath), args, ['ignore', 'pipe', 'ignore'])
  const kill = () => killSandboxed(child)
  signal.addEventListener('abort', kill)
  let outcome = ''
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      outcome = `error ${error.message}`
      resolve()
    })
    child.once('close', (code, name) => {
      outcome ||= code === null ? `signal ${name}` : `exit ${code}`
      resolve()
    })
  })
  try {
    for await (const line of createInterface({ input: child.stdout! })) {
      if (line.trim() !== '') yield ` ${line.trim()}`
    }
    await ended
    signal.throwIfAborted()
    if (outcome !== 'exit 0') throw new Error(`pocketsphinx ended with ${outcome}.`)
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    await ended
  }
}
