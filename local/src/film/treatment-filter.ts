import type { FilmGraph } from '../drawing/film-graph.ts'
import type { Treatment } from '../prompt/treatment.ts'

/** Tables for luma (y) and the two chroma planes, which cost little time per frame. 128 is no colour. */
const tables: Record<Treatment, string> = {
  blackAndWhite: 'u=128:v=128',
  // Deep shadows and hard light.
  noir: "y='clip((val-120)*1.42+100,16,235)':u=128:v=128",
  // Faded blacks, and one brown for everything.
  sepia: "y='clip(val*0.9+18,16,235)':u=109:v=145",
  pastel: "y='clip(val*0.84+38,16,235)':u='(val-128)*0.72+128':v='(val-128)*0.72+130'",
  vivid: "u='clip((val-128)*1.35+128,16,240)':v='clip((val-128)*1.35+128,16,240)'",
  warm: "u='clip(val-9,16,240)':v='clip(val+7,16,240)'",
  cool: "u='clip(val+9,16,240)':v='clip(val-7,16,240)'",
}

/** Changes the colours of everything that the graph shows so far. */
export function treatColours(graph: FilmGraph, treatment: Treatment): void {
  graph.filters.push(`[${graph.image}]lutyuv=${tables[treatment]}[treated]`)
  graph.image = 'treated'
}
