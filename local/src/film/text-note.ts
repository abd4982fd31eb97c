import type { Box } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'

const noteStart = 'kinora-local'
const boxesMax = 4

/**
 * The metadata comment with the boxes of text in a film. A remix uses it to remove the old caption before it adds its own.
 */
export function textNote(shape: FilmShape, boxes: Box[]): string {
  const listed = boxes.map((box) => [box.x, box.y, box.width, box.height].map(Math.round).join(','))
  return [noteStart, `${shape.width}x${shape.height}`, ...listed].join(' ')
}

/**
 * The boxes of a note, scaled to `shape`. The note is untrusted input from an uploaded file; the boxes are always inside the
 * frame.
 */
export function notedTexts(note: string, shape: FilmShape): Box[] {
  const match = /^kinora-local (\d{1,5})x(\d{1,5})((?: \d{1,5}(?:,\d{1,5}){3})*)$/u.exec(note.trim())
  if (match === null) return []
  const width = Number(match[1])
  const height = Number(match[2])
  if (width === 0 || height === 0) return []
  const scale = Math.max(shape.width / width, shape.height / height)
  const left = (width * scale - shape.width) / 2
  const top = (height * scale - shape.height) / 2
  return match[3]!
    .split(' ')
    .filter((text) => text !== '')
    .slice(0, boxesMax)
    .flatMap((text) => {
      const [x = 0, y = 0, boxWidth = 0, boxHeight = 0] = text.split(',').map(Number)
      // Leaves one pixel at the edges, because `delogo` interpolates from the pixels around the box.
      const from = {
        x: Math.max(1, Math.floor(x * scale - left)),
        y: Math.max(1, Math.floor(y * scale - top)),
      }
      const to = {
        x: Math.min(shape.width - 1, Math.ceil((x + boxWidth) * scale - left)),
        y: Math.min(shape.height - 1, Math.ceil((y + boxHeight) * scale - top)),
      }
      const box = { ...from, width: to.x - from.x, height: to.y - from.y }
      return box.width >= 2 && box.height >= 2 ? [box] : []
    })
}
