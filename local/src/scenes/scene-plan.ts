import { createHash } from 'node:crypto'

import { rotateHue, type Colour } from '../drawing/colour.ts'
import { litBy, palettes, type Palette, type PaletteName } from '../drawing/palette.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import type { Biome, Furniture, WeatherName } from '../prompt/scene-words.ts'
import type { Treatment } from '../prompt/treatment.ts'
import { subjects, type Stance, type SubjectName } from '../subjects/subject-table.ts'
import { mentions, readScene, readStyle, type NamedSubject, type SceneReading } from './read-scene.ts'

/** The ground under the subjects. */
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

/** A subject of the scene, with at least one colour. */
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
  /** 1 by default; more if the prompt mentions fog. */
  mistStrength: number
  /** The direction in which the scenery moves. */
  direction: 'left' | 'right'
  mood: 'bright' | 'wistful'
  subjects: SceneSubject[]
  surface: Surface | undefined
  /** The road or rails under vehicles. */
  track: 'road' | 'rails' | undefined
  /** Whether the camera pans over the scenery, stays still, or follows moving subjects. */
  camera: 'pan' | 'still' | 'follow'
  weather: WeatherName | undefined
  /** A change of all colours of the film. */
  treatment: Treatment | undefined
  /** Whether the prompt names nothing that can be drawn, so that its words are shown instead. */
  isTitle: boolean
  /** What the prompt or style names itself. A remix changes nothing else. */
  named: { light: boolean; weather: WeatherName | undefined; mist: boolean }
}

export interface SceneRequest {
  prompt: string
  style?: string | undefined
  seed?: number | undefined
}

export function planScene(request: SceneRequest): ScenePlan {
  const seed = createHash('sha256')
    .update(JSON.stringify([request.prompt, request.style ?? '', request.seed ?? 0]))
    .digest('hex')
  const random = randomFrom(seed, 'plan')
  const reading = readScene(request.prompt)
  const biome = reading.biome ?? 'plain'
  const paletteName =
    paletteOfStyle(request.style) ?? reading.palette ?? defaultPalette(biome, reading, random)
  // A small rotation of the hue varies prompts with the same keywords.
  const hueDegrees = random.between(-9, 9)
  const styleTreatment = request.style === undefined ? undefined : readStyle(request.style)
  const tint = tintOfStyle(request.style)
  const dark = paletteName === 'night' || paletteName === 'neon'
  const direction = random.chance(0.5) ? 'left' : 'right'
  const subjectsShown = reading.subjects.map((subject) => withColours(subject, random))
  const birds = !dark && wild.has(biome) && random.chance(0.4)
  const staged = { biome, snow: reading.snow || paletteName === 'ice', subjects: subjectsShown }
  const ground = groundFor(staged, reading.furniture)
  return {
    seed,
    style: request.style,
    paletteName,
    palette: mapPalette(palettes[paletteName], (colour) => tint(rotateHue(colour, hueDegrees))),
    ...staged,
    ...ground,
    subjects: subjectsShown.length === 0 && birds ? [distantBirds] : subjectsShown,
    camera: cameraFor(biome, subjectsShown, ground.surface),
    stars: (dark && biome !== 'room') || biome === 'space',
    light: dark ? 'moon' : 'sun',
    mistStrength: reading.mist ? 1.35 : 1,
    direction,
    weather: biome === 'room' ? undefined : (reading.weather ?? defaultWeather(biome)),
    treatment: styleTreatment ?? reading.treatment,
    isTitle: reading.subjects.length === 0 && (reading.biome === undefined || !reading.isScenic),
    named: {
      light: paletteOfStyle(request.style) !== undefined || reading.namesLight,
      weather: reading.weather,
      mist: reading.mist,
    },
    mood: dark || ['ember', 'sunset', 'storm', 'autumn'].includes(paletteName) ? 'wistful' : 'bright',
  }
}

const wild = new Set<Biome>(['mountains', 'water', 'dunes', 'forest', 'meadow'])
const distantBirds: SceneSubject = {
  ...{ name: 'flock', word: 'birds', count: 1, colours: [subjects.flock.colours[0]], going: true },
}

/** Adds one of the default colours if the prompt names none. */
function withColours(subject: NamedSubject, random: Random): SceneSubject {
  const fallback = random.pick<Colour>(subjects[subject.name].colours)
  return { ...subject, colours: subject.colours.length > 0 ? subject.colours : [fallback] }
}

const standing = new Set<Stance>(['ground', 'back', 'road', 'rails', 'table', 'held'])

function stanceOf({ name }: { name: SubjectName }): Stance {
  return subjects[name].stance
}

const defaultSurface: Record<Biome, Surface | undefined> = {
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

/** The ground of the scene; none if no subject stands on it, or if a bridge carries them. */
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
  // Subjects named together with a boat are in it.
  const afloat = scene.biome === 'water' && scene.subjects.some(({ name }) => name === 'boat')
  const onLand = stances.some((stance) => standing.has(stance) && !(afloat && stance === 'ground'))
  const needed = always || (!bridged && onLand)
  const surface = defaultSurface[scene.biome]
  if (!needed || surface === undefined) return { surface: undefined, track: undefined }
  if (scene.biome === 'room') {
    // Only small subjects stand on a table; people stand behind it.
    const small = stances.includes('table') || scene.subjects.some(({ name }) => name === 'cat')
    const table = small && (furniture === 'table' || stances.includes('table')) ? 'table' : 'floor'
    return { surface: furniture === undefined || furniture === 'table' ? table : furniture, track: undefined }
  }
  const covered = scene.snow && (surface === 'grass' || surface === 'sand' || surface === 'moss')
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
  return { surface: covered ? 'snow' : surface, track }
}

/** The camera pans, unless subjects stand on the ground: then it stays still, or follows them if all move. */
function cameraFor(biome: Biome, shown: SceneSubject[], surface: Surface | undefined): ScenePlan['camera'] {
  // A subject that spans the frame cannot move with the scenery.
  if (biome === 'room' || shown.some((subject) => stanceOf(subject) === 'span')) return 'still'
  const grounded = surface === undefined ? [] : shown.filter((subject) => standing.has(stanceOf(subject)))
  if (grounded.length === 0) return 'pan'
  return grounded.every(({ going }) => going) ? 'follow' : 'still'
}

const paletteOfColour = new Map<string, PaletteName>(
  Object.entries({
    ember: 'red 红 红色',
    sunset: 'orange 橙 橙色',
    desert: 'yellow golden gold beige 黄 黄色 金 金色',
    forest: 'green 绿 绿色',
    deep: 'turquoise teal 青 青色',
    day: 'blue 蓝 蓝色',
    neon: 'purple violet 紫 紫色',
    blossom: 'pink 粉 粉色 粉红 粉红色',
    autumn: 'brown ginger 棕 棕色 褐 褐色',
    night: 'black 黑 黑色',
    ice: 'white silver 白 白色 银 银色',
    storm: 'grey gray 灰 灰色',
  }).flatMap(([name, words]) => words.split(' ').map((word) => [word, name as PaletteName] as const)),
)

/** The palette of a place if the prompt names no light. */
function defaultPalette(biome: Biome, reading: SceneReading, random: Random): PaletteName {
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
      return paletteOfColour.get(reading.colourName ?? '') ?? any
    default:
      return reading.subjects.length > 0 ? 'day' : fair
  }
}

function defaultWeather(biome: Biome): WeatherName | undefined {
  return biome === 'underwater' ? 'bubbles' : undefined
}

function paletteOfStyle(style: string | undefined): PaletteName | undefined {
  if (style === undefined) return undefined
  return mentions(style, 'neon cyberpunk synthwave vaporwave') ? 'neon' : undefined
}

/** Adapts the colour of a subject to the light and style of the scene. */
export function litIn(
  plan: Pick<ScenePlan, 'style' | 'biome' | 'paletteName' | 'palette'>,
): (colour: Colour) => Colour {
  // In space sunlight is not filtered by air.
  const lit =
    plan.biome === 'space' || plan.biome === 'moon'
      ? (colour: Colour) => colour
      : litBy(plan.paletteName, plan.palette)
  const tint = tintOfStyle(plan.style)
  return (colour) => tint(lit(colour))
}

/** A style that names no treatment shifts the hues of a scene. */
function tintOfStyle(style: string | undefined): (colour: Colour) => Colour {
  if (style === undefined || style.trim() === '' || readStyle(style) !== undefined) return (colour) => colour
  const degrees = randomFrom(style, 'style').between(-24, 24)
  return (colour) => rotateHue(colour, degrees)
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
