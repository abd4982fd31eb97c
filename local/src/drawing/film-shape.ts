export const framesPerSecond = 24

export interface FilmShape {
  width: number
  height: number
  seconds: number
  frameCount: number
  /** How many pixels of this film one pixel of a 720-line film is. */
  unit: number
}

export function filmShape(size: { width: number; height: number; seconds: number }): FilmShape {
  return {
    width: size.width,
    height: size.height,
    seconds: size.seconds,
    frameCount: Math.round(size.seconds * framesPerSecond),
    unit: Math.min(size.width, size.height) / 720,
  }
}

/** yuv420 wants even sizes and offsets. */
export function evenFloor(value: number): number {
  return Math.floor(value / 2) * 2
}

export function evenCeil(value: number): number {
  return Math.ceil(value / 2) * 2
}
