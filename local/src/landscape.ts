import path from 'node:path'

import sharp from 'sharp'

import { duneLayers } from './dunes.ts'
import type { FilmShape } from './film-shape.ts'
import type { Biome } from './keywords.ts'
import { mountainLayers } from './mountains.ts'
import { spaceLayers } from './outer-space.ts'
import type { ScenePlan } from './scene-plan.ts'
import { seaLayers } from './seascape.ts'
import { cityLayers } from './skyline.ts'
import type { Layer } from './terrain.ts'
import { forestLayers } from './woods.ts'

const painters: Record<Biome, (plan: ScenePlan, shape: FilmShape) => Layer[]> = {
  mountains: mountainLayers,
  water: seaLayers,
  dunes: duneLayers,
  forest: forestLayers,
  city: cityLayers,
  space: spaceLayers,
}

/** The four layers of scenery from the farthest to the nearest, as vector drawings. */
export function landscapeLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return painters[plan.biome](plan, shape)
}

export interface LayerPicture extends Omit<Layer, 'svg'> {
  fileName: string
}

export async function paintLayers(layers: Layer[], directory: string): Promise<LayerPicture[]> {
  return await Promise.all(
    layers.map(async ({ svg, ...place }, index) => {
      const fileName = `layer-${index}.png`
      await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(path.join(directory, fileName))
      return { ...place, fileName }
    }),
  )
}
