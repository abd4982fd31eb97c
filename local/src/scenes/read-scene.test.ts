import { describe, expect, test } from 'vitest'

import { pictureBook } from '../../test/kit/picture-book.ts'
import { colourNames } from '../prompt/scene-words.ts'
import { readScene } from './read-scene.ts'

/** The setting, its subjects ("2 child" for several of a kind), and their colours. */
function read(prompt: string): [setting: string | undefined, subjects: string, colours: string] {
  const { biome, subjects } = readScene(prompt)
  const nameOf = (colour: string) => [...colourNames.keys()].find((name) => colourNames.get(name) === colour)
  return [
    biome,
    subjects.map(({ name, count }) => (count === 1 ? name : `${count} ${name}`)).join(', '),
    subjects.map(({ colours }) => colours.map(nameOf).join('+') || '-').join(', '),
  ]
}

describe('a prompt is read as setting, subjects and colours', () => {
  test.each<[string, string | undefined, string, string]>([
    ['a cat in a garden', 'meadow', 'cat', '-'],
    ['a black cat on a sofa', 'room', 'cat', 'black'],
    ['a red car and a blue house', 'meadow', 'car, house', 'red, blue'],
    ['a red rose in a vase', 'room', 'rose, vase', 'red, -'],
    ['two children building a snowman', 'meadow', '2 child, snowman', '-, -'],
    ['a train crossing a bridge', 'water', 'train, bridge', '-, -'],
    ['three little white sheep on a green hill', 'meadow', '3 sheep', 'white'],
    ['red and blue balloons over the desert', 'dunes', '3 balloon', 'red+blue'],
    ['the car is yellow', 'meadow', 'car', 'yellow'],
    ['a girl in a red coat with a green umbrella', 'meadow', 'child, umbrella', 'red, green'],
    ['a boat on a lake', 'water', 'boat', '-'],
    ['a robot on Mars', 'mars', 'robot', '-'],
    ['an astronaut on the moon', 'moon', 'astronaut', '-'],
    ['a rocket', 'space', 'rocket', '-'],
    ['a whale', 'water', 'whale', '-'],
    ['an orange fish', 'underwater', 'fish', 'orange'],
    ['a hot-air balloon over snow-covered mountains', 'mountains', 'balloon', '-'],
    ['a village in the mountains', 'mountains', 'village', '-'],
    ['an old house by the sea', 'water', 'house', '-'],
    ['a constructor car', 'meadow', 'car', '-'],
    ['a city street without cars', 'city', '', ''],
    ['a forest with no people', 'forest', '', ''],
    ['a tall building', 'city', '', ''],
    ['the moon', 'mountains', '', ''],
    ['a pine forest', 'forest', '', ''],
    ['a penguin family on the ice', 'meadow', '3 penguin', '-'],
    ['a family in a garden', 'meadow', '3 person', '-'],
    ['a couple in a garden', 'meadow', '2 person', '-'],
    ['make it winter, with falling snow', 'meadow', '', ''],
    ['a bottle of water on a desk', 'room', '', ''],
    ['雪山上的龙', 'mountains', 'dragon', '-'],
    ['a 🐱 beside a 🌳', 'meadow', 'cat, tree', '-, -'],
  ])('%s', (prompt, setting, subjects, colours) => {
    expect(read(prompt)).toEqual([setting, subjects, colours])
  })
})

describe('prompts of the picture book', () => {
  test('there are forty', () => {
    expect(new Set(pictureBook.map(({ prompt }) => prompt)).size).toBe(40)
  })

  test.each(pictureBook)('$prompt', ({ prompt, setting, subjects }) => {
    expect(read(prompt).slice(0, 2)).toEqual([setting, subjects])
  })
})

describe('the handle of a character does not change the scene', () => {
  test.each(['@ocean_girl', '@citykid', '@forest.fox', '@cat', '@mars', '@snow_dragon'])('%s', (handle) => {
    expect(readScene(`${handle} smiles`)).toEqual(readScene('@somebody smiles'))
    expect(readScene(`${handle} and a dog in a garden.`)).toEqual(readScene('@x1 and a dog in a garden.'))
  })

  test('text after a handle is read in a script without spaces', () => {
    expect(readScene('@mina在海边').biome).toBe('water')
  })
})

describe('verbs are not nouns', () => {
  test.each([
    'two children building something',
    'a team building sandcastles',
    'he is building a tower of blocks',
    '@mina building a kite shop',
    'train a puppet',
    'a man trains',
    'they train every day',
    'learning to park',
    '@otto parks',
    'please park it there',
    'a woman rose slowly',
    'watch closely',
    'a rocking chair',
    'seeing is believing',
    'a flowering career',
    'sailing through life',
    'she waters them',
    'people fish',
    'he stars in a play',
    'and then ship it',
    'wave the flag',
    'he leaves her',
  ])('%s', (prompt) => {
    const { biome, subjects, weather } = readScene(prompt)
    const allowed = ['person', 'kite', 'child']
    expect(subjects.map(({ name }) => name).filter((name) => !allowed.includes(name))).toEqual([])
    expect([undefined, 'meadow']).toContain(biome)
    expect(weather).toBeUndefined()
  })

  test.each<[string, string | undefined, string]>([
    ['train a dog', 'meadow', 'dog'],
    ['a man trains a horse', 'meadow', 'person, horse'],
    ['the plane flies', 'mountains', 'plane'],
    ['a train', 'meadow', 'train'],
    ['the steam trains', 'meadow', '3 train'],
    ['a walk in the park', 'meadow', ''],
    ['watch the sea', 'water', ''],
    ['the sun rose over a rose', 'meadow', 'rose'],
  ])('%s', (prompt, setting, subjects) => {
    expect(read(prompt).slice(0, 2)).toEqual([setting, subjects])
  })
})

describe('prompts without a known place or subject get no scenery', () => {
  test.each([
    'a watch',
    'a seasoned dish',
    'quarterly results',
    'hot dogs',
    'a sea-green dress',
    'a glass of water',
    'ice cream',
    'a fire hydrant',
    'a rose gold ring',
    'a mountain bike',
    'the snow leopard',
    'a rock star on the cover',
    'jazz',
    '',
  ])('%s', (prompt) => {
    expect(readScene(prompt)).toMatchObject({ biome: undefined, subjects: [] })
  })
})
