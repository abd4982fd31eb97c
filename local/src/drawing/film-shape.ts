export const framesPerSecond = 24

export interface FilmShape {
  width: number
  height: number
  seconds: number
  frameCount: number
  /** The size of one pixel of a 720-line film, in pixels of this film. */
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

/** yuv420 needs even sizes and offsets. */
export function evenFloor(value: number): number {
  return Math.floor(value / 2) * 2
}

export function evenCeil(value: number): number {
  return Math.ceil(value / 2) * 2
}
