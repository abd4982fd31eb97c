import type { ChildProcess } from 'node:child_process'

import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import { startProgram, type FfmpegTool } from '../ffmpeg/sandbox.ts'

/** espeak-ng, which runs in the same sandbox as ffmpeg. */
export interface EspeakTool {
  program: FfmpegTool
  /** An empty folder, the only one that it may write to. */
  directory: string
}

const longestRunMs = 20_000
const mostPhonemeBytes = 1_000_000

/** Undefined if espeak-ng does not run. */
export async function findEspeak(
  espeakPath: string,
  ffmpeg: FfmpegTool,
  directory: string,
): Promise<EspeakTool | undefined> {
  const tool = { program: { ...ffmpeg, path: espeakPath }, directory }
  const works = await phonemesFrom(tool, 'en-us', 'one', AbortSignal.timeout(longestRunMs)).then(
    (phonemes) => phonemes !== '',
    () => false,
  )
  return works ? tool : undefined
}

/** The text is passed through stdin, because an argument could be parsed as an option. */
export function startEspeak({ program, directory }: EspeakTool, args: string[], text: string): ChildProcess {
  const child = startProgram(program, directory, [...args, '--stdin'], ['pipe', 'pipe', 'ignore'])
  // If the process ends early, its exit code reports the failure.
  child.stdin!.on('error', () => {})
  child.stdin!.end(text)
  return child
}

/** The phonemes of a text without punctuation, in the International Phonetic Alphabet. */
export async function phonemesFrom(
  tool: EspeakTool,
  language: string,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const child = startEspeak(tool, ['-q', '--ipa', '-v', language, '-b', '1'], text)
  const kill = () => killSandboxed(child)
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(longestRunMs)])
  bounded.addEventListener('abort', kill)
  if (bounded.aborted) kill()
  let phonemes = ''
  child.stdout!.setEncoding('utf8').on('data', (written: string) => {
    phonemes += written
    if (phonemes.length > mostPhonemeBytes) kill()
  })
  const outcome = await espeakEnd(child)
  bounded.removeEventListener('abort', kill)
  signal.throwIfAborted()
  if (outcome !== 'exit 0') throw new Error(`espeak-ng ended with ${outcome}`)
  // espeak-ng marks words of another language with (fr), (en-us) and so on.
  return phonemes
    .replaceAll(/\([a-z-]+\)/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim()
}

export function espeakEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`error ${error.message}`))
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}
