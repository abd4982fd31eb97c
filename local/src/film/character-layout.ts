import type { Box } from '../drawing/film-graph.ts'
import { evenCeil, evenFloor, type FilmShape } from '../drawing/film-shape.ts'

/** The position of a character and the area that it moves in. */
interface CharacterPlace {
  /** The centre of portrait and name together. */
  centreX: number
  centreY: number
  /** The area that portrait and name cover during the film. */
  reach: Box
  /** The largest area that the name covers during the film. */
  nameReach: Box
}

export interface CharacterLayout {
  /** Of the portrait, without ring and name. */
  diameter: number
  /** Of portrait, glow and name together. */
  height: number
  name: { fontSize: number; widthMax: number; height: number }
  /** The distance that all of them drift to the right during the film. */
  drift: number
  sway: { x: number; y: number }
  places: CharacterPlace[]
}

/** The rows available to characters, in pixels, between watermark and caption. */
export interface Band {
  top: number
  bottom: number
}

export const ringShare = 0.045
export const glowShare = 0.16
const nameShare = 0.1224
/** The height of a name's plate, in font sizes. */
const plateShare = 2.34
const swayShare = { x: 0.035, y: 0.06 }

/**
 * Each character sways inside a cell of a grid, and the whole grid drifts. So they move through the scene without covering
 * each other or any text.
 */
export function layoutCharacters(
  count: number,
  shape: FilmShape,
  band: Band,
  heading: number,
): CharacterLayout {
  const grids = Array.from({ length: count }, (_, index) => gridOf(count, index + 1, shape, band))
  const grid = grids.reduce((best, other) => (other.diameter > best.diameter + 1 ? other : best))
  const { columns, rows, cellWidth, diameter, name } = grid
  const drift = heading * Math.min(shape.width * 0.1, cellWidth * 0.24, shape.width - columns * cellWidth)
  const sway = { x: diameter * swayShare.x, y: diameter * swayShare.y }
  const height = evenCeil(diameter * (1 + glowShare + ringShare) + name.height)
  const cellHeight = (band.bottom - band.top) / rows
  const width = Math.max(diameter * (1 + 2 * glowShare), name.widthMax)
  const places = Array.from({ length: count }, (_, index): CharacterPlace => {
    const row = Math.floor(index / columns)
    const inRow = Math.min(columns, count - row * columns)
    const centreX = shape.width / 2 + ((index % columns) - (inRow - 1) / 2) * cellWidth
    const centreY = band.top + (row + 0.5) * cellHeight
    const top = centreY - height / 2 - sway.y
    const reach = {
      x: centreX - width / 2 - Math.abs(drift) / 2 - sway.x,
      y: top,
      width: width + Math.abs(drift) + 2 * sway.x,
      height: height + 2 * sway.y,
    }
    const nameHeight = name.height + 2 * sway.y
    const nameReach = { ...reach, y: top + reach.height - nameHeight, height: nameHeight }
    return { centreX, centreY, reach, nameReach }
  })
  return { diameter, height, name, drift, sway, places }
}

function gridOf(count: number, columns: number, shape: FilmShape, band: Band) {
  const rows = Math.ceil(count / columns)
  const cellWidth = (shape.width * 0.9) / columns
  const cellHeight = (band.bottom - band.top) / rows
  const wanted = Math.min(cellWidth * 0.56, cellHeight * 0.62, 260 * shape.unit)
  // Legible if the cell is large enough, and never more than a part of the cell.
  const fontSize = Math.min(Math.max(Math.min(13, shape.width / 14), wanted * nameShare), cellHeight * 0.16)
  const height = evenFloor(fontSize * plateShare)
  const left = (cellHeight - height - 2) / (1 + glowShare + ringShare + 2 * swayShare.y)
  const diameter = Math.max(2, evenFloor(Math.min(wanted, left)))
  const widthMax = cellWidth - 2 * diameter * swayShare.x - 2
  return { columns, rows, cellWidth, diameter, name: { fontSize, widthMax, height: Math.max(2, height) } }
}
