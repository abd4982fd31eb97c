import path from 'node:path'

import sharp from 'sharp'

import type { FilmShape } from '../drawing/film-shape.ts'
import type { Biome } from '../prompt/scene-words.ts'
import { backdropLayers } from './backdrop.ts'
import { duneLayers } from './dunes.ts'
import { groundLayer } from './ground.ts'
import { roomLayers } from './indoors.ts'
import { meadowLayers } from './meadow.ts'
import { mesaLayers } from './mesas.ts'
import { mountainLayers } from './mountains.ts'
import { spaceLayers } from './outer-space.ts'
import type { ScenePlan } from './scene-plan.ts'
import { seaFloorLayers } from './sea-floor.ts'
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
  meadow: meadowLayers,
  room: roomLayers,
  underwater: seaFloorLayers,
  mars: mesaLayers,
  moon: mesaLayers,
  plain: backdropLayers,
}

/** At most four layers of scenery, farthest first, as SVG. */
export function landscapeLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  const layers = painters[plan.biome](plan, shape)
  return plan.surface === undefined ? layers : [...layers.slice(0, 3), groundLayer(plan, plan.surface, shape)]
}

export interface LayerImage extends Omit<Layer, 'svg'> {
  fileName: string
}

export async function paintLayers(layers: Layer[], directory: string): Promise<LayerImage[]> {
  return await Promise.all(
    layers.map(async ({ svg, ...place }, index) => {
      const fileName = `layer-${index}.png`
      await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(path.join(directory, fileName))
      return { ...place, fileName }
    }),
  )
}
