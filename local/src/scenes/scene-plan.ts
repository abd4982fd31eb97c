import { createHash } from 'node:crypto'

import { mix, saturate, turnHue, type Colour } from '../drawing/colour.ts'
import { litBy, palettes, type Palette, type PaletteName } from '../drawing/palette.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import type { Biome, Furniture, WeatherName } from '../prompt/scene-words.ts'
import { subjects, type Stance, type SubjectName } from '../subjects/subject-table.ts'
import { mentions, readScene, type NamedSubject, type SceneReading } from './read-scene.ts'

/** What things stand on. */
export type Surface =
  | 'grass'
  | 'moss'
  | 'snow'
  | 'sand'
  | 'street'
  | 'dust'
  | 'regolith'
  | 'floor'
  | 'table'
  | 'bed'
  | 'sofa'
  | 'stage'

/** A thing of the scene; it has at least one colour. */
export type SceneSubject = NamedSubject

export interface ScenePlan {
  seed: string
  style: string | undefined
  paletteName: PaletteName
  palette: Palette
  biome: Biome
  stars: boolean
  light: 'sun' | 'moon'
  snow: boolean
  /** 1 is the usual amount; prompts that speak of fog get more. */
  mistStrength: number
  /** Which way the world passes by. */
  direction: 'left' | 'right'
  mood: 'bright' | 'wistful'
  subjects: SceneSubject[]
  surface: Surface | undefined
  /** What crosses the ground for what drives there. */
  track: 'road' | 'rails' | undefined
  /** Whether the scenery slides past, stays, or keeps step with what walks or drives. */
  pace: 'pan' | 'still' | 'follow'
  weather: WeatherName | undefined
}

export interface SceneWish {
  prompt: string
  style?: string | undefined
  seed?: number | undefined
}

export function planScene(wish: SceneWish): ScenePlan {
  const seed = createHash('sha256')
    .update(JSON.stringify([wish.prompt, wish.style ?? '', wish.seed ?? 0]))
    .digest('hex')
  const random = randomFrom(seed, 'plan')
  const reading = readScene(wish.prompt)
  const biome = reading.biome ?? 'plain'
  const paletteName = paletteOfStyle(wish.style) ?? reading.palette ?? usualPalette(biome, reading, random)
  // A little turn of the hue keeps two prompts with the same keywords from looking alike.
  const hueDegrees = random.between(-9, 9)
  const tint = tintOfStyle(wish.style)
  const dark = paletteName === 'night' || paletteName === 'neon'
  const direction = random.chance(0.5) ? 'left' : 'right'
  const subjectsShown = reading.subjects.map((subject) => dressed(subject, random))
  const birds = !dark && wild.has(biome) && random.chance(0.4)
  const staged = { biome, snow: reading.snow || paletteName === 'ice', subjects: subjectsShown }
  const ground = groundFor(staged, reading.furniture)
  return {
    seed,
    style: wish.style,
    paletteName,
    palette: mapPalette(palettes[paletteName], (colour) => tint(turnHue(colour, hueDegrees))),
    ...staged,
    ...ground,
    subjects: subjectsShown.length === 0 && birds ? [distantBirds] : subjectsShown,
    pace: paceFor(biome, subjectsShown, ground.surface),
    stars: (dark && biome !== 'room') || biome === 'space',
    light: dark ? 'moon' : 'sun',
    mistStrength: reading.mist ? 1.35 : 1,
    direction,
    weather: biome === 'room' ? undefined : (reading.weather ?? usualWeather(biome)),
    mood: dark || ['ember', 'sunset', 'storm', 'autumn'].includes(paletteName) ? 'wistful' : 'bright',
  }
}

const wild = new Set<Biome>(['mountains', 'water', 'dunes', 'forest', 'meadow'])
const distantBirds: SceneSubject = {
  ...{ name: 'flock', word: 'birds', count: 1, colours: [subjects.flock.colours[0]], going: true },
}

/** Gives a thing one of its usual colours where the prompt gave it none. */
function dressed(subject: NamedSubject, random: Random): SceneSubject {
  const usual = random.pick<Colour>(subjects[subject.name].colours)
  return { ...subject, colours: subject.colours.length > 0 ? subject.colours : [usual] }
}

const standing = new Set<Stance>(['ground', 'back', 'road', 'rails', 'table', 'held'])

function stanceOf({ name }: { name: SubjectName }): Stance {
  return subjects[name].stance
}

const usualSurface: Record<Biome, Surface | undefined> = {
  ...{
    meadow: 'grass',
    mountains: 'grass',
    forest: 'moss',
    water: 'sand',
    dunes: 'sand',
    underwater: 'sand',
  },
  ...{ city: 'street', mars: 'dust', moon: 'regolith', room: 'floor', plain: 'stage', space: undefined },
}

/** What things stand on; nothing where nothing stands, or where a bridge carries it. */
function groundFor(
  scene: {
    biome: Biome
    snow: boolean
    subjects: SceneSubject[]
  },
  furniture: Furniture | undefined,
): Pick<ScenePlan, 'surface' | 'track'> {
  const stances = scene.subjects.map((subject) => stanceOf(subject))
  const bridged = scene.subjects.some(({ name }) => name === 'bridge')
  const always = ['meadow', 'room', 'mars', 'moon', 'underwater'].includes(scene.biome)
  // Who is named together with a boat is in it.
  const afloat = scene.biome === 'water' && scene.subjects.some(({ name }) => name === 'boat')
  const onLand = stances.some((stance) => standing.has(stance) && !(afloat && stance === 'ground'))
  const needed = always || (!bridged && onLand)
  const usual = usualSurface[scene.biome]
  if (!needed || usual === undefined) return { surface: undefined, track: undefined }
  if (scene.biome === 'room') {
    // People stand beside a table, not on it.
    const small = stances.includes('table') || scene.subjects.some(({ name }) => name === 'cat')
    const table = small && (furniture === 'table' || stances.includes('table')) ? 'table' : 'floor'
    return { surface: furniture === undefined || furniture === 'table' ? table : furniture, track: undefined }
  }
  const covered = scene.snow && (usual === 'grass' || usual === 'sand' || usual === 'moss')
  const paved =
    scene.biome === 'meadow' ||
    scene.biome === 'mountains' ||
    scene.biome === 'forest' ||
    scene.biome === 'water'
  const track = bridged
    ? undefined
    : stances.includes('rails')
      ? 'rails'
      : stances.includes('road') && paved
        ? 'road'
        : undefined
  return { surface: covered ? 'snow' : usual, track }
}

/** Scenery slides past, unless something stands on it: then it stays, or keeps step with what moves along. */
function paceFor(biome: Biome, shown: SceneSubject[], surface: Surface | undefined): ScenePlan['pace'] {
  // What spans the picture cannot slide.
  if (biome === 'room' || shown.some((subject) => stanceOf(subject) === 'span')) return 'still'
  const grounded = surface === undefined ? [] : shown.filter((subject) => standing.has(stanceOf(subject)))
  if (grounded.length === 0) return 'pan'
  return grounded.every(({ going }) => going) ? 'follow' : 'still'
}

/** The light of a place about which the prompt says nothing else. */
function usualPalette(biome: Biome, reading: SceneReading, random: Random): PaletteName {
  const any = random.pick<PaletteName>([
    'dawn',
    'day',
    'sunset',
    'night',
    'forest',
    'desert',
    'ice',
    'autumn',
    'blossom',
  ])
  const fair = random.pick<PaletteName>(['day', 'dawn', 'sunset'])
  switch (biome) {
    case 'space':
    case 'moon':
      return 'night'
    case 'forest':
      return 'forest'
    case 'dunes':
    case 'mars':
      return 'desert'
    case 'underwater':
      return 'deep'
    case 'meadow':
    case 'room':
      return 'day'
    case 'plain':
      return any
    default:
      return reading.subjects.length > 0 ? 'day' : fair
  }
}

function usualWeather(biome: Biome): WeatherName | undefined {
  return biome === 'underwater' ? 'bubbles' : undefined
}

function paletteOfStyle(style: string | undefined): PaletteName | undefined {
  if (style === undefined) return undefined
  return mentions(style, 'neon cyberpunk synthwave vaporwave') ? 'neon' : undefined
}

/** How a thing of this colour looks in the light of the scene and in its style. */
export function litIn(
  plan: Pick<ScenePlan, 'style' | 'biome' | 'paletteName' | 'palette'>,
): (colour: Colour) => Colour {
  // Out in space there is no dusk: the sun shines on everything.
  const lit =
    plan.biome === 'space' || plan.biome === 'moon'
      ? (colour: Colour) => colour
      : litBy(plan.paletteName, plan.palette)
  const tint = tintOfStyle(plan.style)
  return (colour) => tint(lit(colour))
}

/** A style never changes what is shown, only its colours. */
function tintOfStyle(style: string | undefined): (colour: Colour) => Colour {
  if (style === undefined || style.trim() === '') return (colour) => colour
  if (mentions(style, 'noir monochrome black bw')) return (colour) => saturate(colour, 0.08)
  if (mentions(style, 'vintage retro sepia film nostalgic')) {
    return (colour) => mix(saturate(colour, 0.6), '#c08a52', 0.18)
  }
  if (mentions(style, 'pastel watercolor watercolour soft dreamy')) {
    return (colour) => mix(saturate(colour, 0.85), '#fff1f0', 0.22)
  }
  if (mentions(style, 'anime comic cartoon vivid vibrant pop neon')) return (colour) => saturate(colour, 1.35)
  if (mentions(style, 'warm golden')) return (colour) => mix(colour, '#ffb060', 0.14)
  if (mentions(style, 'cool cold blue')) return (colour) => mix(colour, '#4a86d8', 0.16)
  const degrees = randomFrom(style, 'style').between(-24, 24)
  return (colour) => turnHue(colour, degrees)
}

function mapPalette(source: Palette, change: (colour: Colour) => Colour): Palette {
  return {
    zenith: change(source.zenith),
    sky: change(source.sky),
    horizon: change(source.horizon),
    far: change(source.far),
    near: change(source.near),
    light: change(source.light),
    mist: change(source.mist),
  }
}
