import type { Box } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'

const noteStart = 'kinora-local'
const mostBoxes = 4

/**
 * What our films carry about the text burnt into them. A remix of such a film takes the old caption away
 * before it sets its own; without the note one would show through the other.
 */
export function textNote(shape: FilmShape, boxes: Box[]): string {
  const listed = boxes.map((box) => [box.x, box.y, box.width, box.height].map(Math.round).join(','))
  return [noteStart, `${shape.width}x${shape.height}`, ...listed].join(' ')
}

/**
 * Where the text of a film with this note is once it fills `shape`. The note comes with a stranger's file:
 * it may say anything, and whatever it says, the boxes lie inside the picture.
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
    .slice(0, mostBoxes)
    .flatMap((text) => {
      const [x = 0, y = 0, boxWidth = 0, boxHeight = 0] = text.split(',').map(Number)
      // One pixel inside: what is filled in is taken from the pixels around the box.
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
