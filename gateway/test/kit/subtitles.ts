/** Strict parsers for subtitle files. They throw on any violation of the format. */
export interface ReadCue {
  startMs: number
  endMs: number
  text: string
}

const timeOf = (text: string, mark: ',' | '.'): number => {
  const [, hours = '', minutes = '', seconds = '', found = '', ms = ''] =
    /^(\d{2,}):([0-5]\d):([0-5]\d)([,.])(\d{3})$/.exec(text) ?? []
  if (found !== mark) throw new Error(`${JSON.stringify(text)} is not a valid time`)
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(ms)
}

const cueOf = (lines: string[], mark: ',' | '.'): ReadCue => {
  const [times = '', ...texts] = lines
  const [start = '', end = '', ...more] = times.split(' --> ')
  const cue = { startMs: timeOf(start, mark), endMs: timeOf(end, mark), text: texts.join('\n') }
  if (more.length > 0 || cue.endMs <= cue.startMs)
    throw new Error(`${JSON.stringify(times)} is not a valid time range`)
  if (texts.length === 0 || cue.text.includes('-->'))
    throw new Error(`${JSON.stringify(lines)} is not a valid cue`)
  return cue
}

/** The blocks of a file. Each ends with an empty line. */
const blocksOf = (text: string): string[][] => {
  if (text.includes('\r') || text.includes('\0')) throw new Error('the file contains CR or NUL')
  if (text === '') return []
  if (!text.endsWith('\n\n')) throw new Error('the last block does not end with an empty line')
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      if (block === '' || block.startsWith('\n')) throw new Error('the file contains an empty block')
      return block.split('\n')
    })
}

const assertInOrder = (cues: ReadCue[]): ReadCue[] => {
  for (const [index, cue] of cues.entries()) {
    if (cue.startMs < (cues[index - 1]?.endMs ?? 0))
      throw new Error(`cue ${index + 1} overlaps the previous cue`)
  }
  return cues
}

export const readSrt = (text: string): ReadCue[] =>
  assertInOrder(
    blocksOf(text).map(([number, ...lines], index) => {
      if (number !== String(index + 1)) throw new Error(`cue ${index + 1} is numbered ${number}`)
      return cueOf(lines, ',')
    }),
  )

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' }

export const readVtt = (text: string): ReadCue[] => {
  const [head, ...blocks] = blocksOf(text)
  if (head?.join('\n') !== 'WEBVTT') throw new Error('the file does not begin with WEBVTT')
  return assertInOrder(
    blocks.map((lines) => {
      const cue = cueOf(lines, '.')
      if (/[<>]|&(?!amp;|lt;|gt;)/.test(cue.text)) throw new Error(`${cue.text} contains unescaped markup`)
      return { ...cue, text: cue.text.replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity) }
    }),
  )
}
