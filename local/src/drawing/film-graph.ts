import { framesPerSecond } from './film-shape.ts'

/** Small computed frames, piped to ffmpeg with one byte of opacity per pixel. */
export interface FrameSource {
  width: number
  height: number
  frameCount: number
  framesPerSecond: number
  paint(seconds: number): Buffer
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** The inputs and filters of ffmpeg, and the label of the last filter. */
export interface FilmGraph {
  inputs: string[][]
  filters: string[]
  sources: FrameSource[]
  image: string
  /** The boxes of text in the film. */
  texts: Box[]
}

/** Descriptors 0 to 2 are the standard streams, and 3 is for progress. */
export const firstSourceDescriptor = 4

export function emptyGraph(): FilmGraph {
  return { inputs: [], filters: [], sources: [], image: '', texts: [] }
}

export function addInput(graph: FilmGraph, ...args: string[]): number {
  graph.inputs.push(args)
  return graph.inputs.length - 1
}

/**
 * Adds an image for the whole film. The filter decodes it once and repeats it in memory; a loop of the demuxer would decode it
 * for every frame.
 */
export function addStill(graph: FilmGraph, fileName: string, format: 'yuv420p' | 'yuva420p'): string {
  const input = addInput(graph, '-framerate', String(framesPerSecond), '-i', fileName)
  const label = `still${input}`
  graph.filters.push(
    `[${input}:v]scale=out_color_matrix=bt709:out_range=tv,format=${format},loop=loop=-1:size=1:start=0,setpts=N/${framesPerSecond}/TB[${label}]`,
  )
  return label
}

/** A repeated sequence of frames. */
export interface Loop {
  width: number
  height: number
  frameCount: number
  framesPerSecond: number
}

/** Adds a loop from one file of RGBA frames. They are read once and repeated in memory. */
export function addLoop(graph: FilmGraph, fileName: string, loop: Loop): string {
  const rate = String(loop.framesPerSecond)
  const size = `${loop.width}x${loop.height}`
  const input = addInput(
    graph,
    ...['-f', 'rawvideo', '-pix_fmt', 'rgba', '-s', size, '-framerate', rate, '-i', fileName],
  )
  const label = `loop${input}`
  graph.filters.push(
    `[${input}:v]scale=out_color_matrix=bt709:out_range=tv,format=yuva420p,loop=loop=-1:size=${loop.frameCount}:start=0,setpts=N/${rate}/TB[${label}]`,
  )
  return label
}

export function overlay(graph: FilmGraph, label: string, options: string): void {
  const result = `blend${graph.filters.length}`
  graph.filters.push(`[${graph.image}][${label}]overlay=${options}:format=yuv420[${result}]`)
  graph.image = result
}

/** Colours the source and enlarges it. Colour and opacity are merged before enlarging, which is cheaper. */
export function addSource(
  graph: FilmGraph,
  source: FrameSource,
  look: { colour: string; width: number; height: number },
): string {
  const input = addPipe(graph, source)
  const small = `${source.width}x${source.height}`
  const rate = String(source.framesPerSecond)
  const label = `source${input}`
  graph.filters.push(
    `color=c=0x${look.colour.slice(1)}:s=${small}:r=${rate},format=gbrp,scale=out_color_matrix=bt709:out_range=tv,format=yuva420p[colour${input}]`,
    `[colour${input}][${input}:v]alphamerge,scale=${look.width}:${look.height}:flags=bicubic,fps=${framesPerSecond}[${label}]`,
  )
  return label
}

/** Overlays `label`, with the frames of `source` as its opacity. */
export function addMask(
  graph: FilmGraph,
  label: string,
  size: { width: number; height: number },
  source: FrameSource,
): void {
  const input = addPipe(graph, source)
  graph.filters.push(
    `[${input}:v]scale=${size.width}:${size.height}:flags=bicubic[mask${input}]`,
    `[${label}]format=yuva420p[opaque${input}]`,
    `[opaque${input}][mask${input}]alphamerge[masked${input}]`,
  )
  overlay(graph, `masked${input}`, 'x=0:y=0')
}

function addPipe(graph: FilmGraph, source: FrameSource): number {
  const descriptor = firstSourceDescriptor + graph.sources.length
  graph.sources.push(source)
  const size = `${source.width}x${source.height}`
  const rate = String(source.framesPerSecond)
  return addInput(
    graph,
    ...['-f', 'rawvideo', '-pix_fmt', 'gray', '-s', size, '-framerate', rate, '-i', `pipe:${descriptor}`],
  )
}
