import { addLoop, addStill, overlay, type FilmGraph, type Loop } from '../drawing/film-graph.ts'

/** A small image that moves over the film. */
export interface Sprite {
  fileName: string
  /** For an animated sprite, whose file has all frames. */
  loop?: Loop
  /** ffmpeg expressions of the frame number. */
  x: string
  y: string
}

export function addSprite(
  graph: FilmGraph,
  sprite: Sprite,
  fade?: { seconds: number; fadeSeconds: number },
): void {
  let label =
    sprite.loop === undefined
      ? addStill(graph, sprite.fileName, 'yuva420p')
      : addLoop(graph, sprite.fileName, sprite.loop)
  if (fade !== undefined) {
    const { seconds, fadeSeconds } = fade
    const shown = `${label}shown`
    graph.filters.push(
      `[${label}]fade=t=in:st=${(fadeSeconds * 0.3).toFixed(3)}:d=${fadeSeconds.toFixed(3)}:alpha=1,fade=t=out:st=${(seconds - fadeSeconds * 1.4).toFixed(3)}:d=${fadeSeconds.toFixed(3)}:alpha=1[${shown}]`,
    )
    label = shown
  }
  overlay(graph, label, `x='${sprite.x}':y='${sprite.y}':eval=frame`)
}

/** The expression of a path that moves from `start` by `travel` over the film and oscillates by `sway`. */
export function swaying(path: {
  start: number
  travel: number
  frameCount: number
  sway: number
  swayFrames: number
  phase: number
}): string {
  const step = (path.travel / path.frameCount).toFixed(5)
  const radiansPerFrame = ((2 * Math.PI) / path.swayFrames).toFixed(5)
  return `round(${path.start.toFixed(2)}+n*${step}+${path.sway.toFixed(2)}*sin(n*${radiansPerFrame}+${path.phase.toFixed(3)}))`
}
