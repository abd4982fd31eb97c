import { timbreDistance, timbreOf } from './listen.ts'

interface Pair {
  pair: string
  distance: number
}

/** The two most similar voices. */
export function nearestVoices(sounds: Map<string, Float32Array>): Pair {
  const timbres = [...sounds].map(([name, sound]) => ({ name, timbre: timbreOf(sound) }))
  const pairs = timbres.flatMap((one, place) =>
    timbres.slice(place + 1).map((other) => ({
      pair: `${one.name} and ${other.name}`,
      distance: timbreDistance(one.timbre, other.timbre),
    })),
  )
  return pairs.reduce((nearest, each) => (each.distance < nearest.distance ? each : nearest))
}
