import { mix } from '../drawing/colour.ts'
import {
  circle,
  darker,
  ellipse,
  lighter,
  line,
  shadow,
  shape,
  rotated,
  wave,
  type Look,
} from '../drawing/pen.ts'

const leafGreen = '#4f9a4c'

function leaves(stem: string, side: number, y: number): string {
  return shape(
    `M0 ${y}C${side * 14} ${y - 22} ${side * 34} ${y - 26} ${side * 46} ${y - 18}C${side * 38} ${y - 2} ${side * 18} ${y + 6} 0 ${y}Z`,
    stem,
  )
}

export function drawFlower({ colour, lit, phase, index, word }: Look): string {
  const stem = lit(leafGreen)
  const petal = lit(colour)
  const sway = 4 * wave(phase, index * 0.37)
  const bloom = word.startsWith('tulip')
    ? tulip(petal)
    : word.startsWith('sunflower')
      ? sunflower(lit)
      : daisy(petal, lit('#f4b62e'))
  return rotated(
    sway,
    0,
    0,
    `${line('M0 0C-4 -40 4 -80 0 -118', stem, 7)}${leaves(stem, -1, -26)}${leaves(darker(stem, 0.12), 1, -44)}${bloom}`,
  )
}

function daisy(petal: string, heart: string): string {
  let art = ''
  for (let index = 0; index < 9; index++) {
    art += rotated(
      index * 40,
      0,
      -128,
      ellipse(0, -158, 12.5, 27, index % 2 === 0 ? petal : darker(petal, 0.1)),
    )
  }
  return art + circle(0, -128, 17, heart) + circle(-4, -132, 6, lighter(heart, 0.4))
}

function sunflower(lit: Look['lit']): string {
  let art = ''
  for (let index = 0; index < 16; index++) {
    art += rotated(
      index * 22.5,
      0,
      -128,
      ellipse(0, -164, 10, 24, lit(index % 2 === 0 ? '#f7c62e' : '#e9a822')),
    )
  }
  return art + circle(0, -128, 27, lit('#5c3a1e')) + circle(0, -128, 18, lit('#472b15'))
}

function tulip(petal: string): string {
  return `${shape('M-28 -160C-34 -124 -18 -110 0 -110C18 -110 34 -124 28 -160C20 -154 14 -146 12 -138C10 -150 6 -164 0 -172C-6 -164 -10 -150 -12 -138C-14 -146 -20 -154 -28 -160Z', petal)}${shape('M0 -172C-10 -152 -12 -126 0 -110C12 -126 10 -152 0 -172Z', darker(petal, 0.14))}`
}

export function drawRose({ colour, lit, phase, index }: Look): string {
  const stem = lit('#3f7f42')
  const bloom = lit(colour)
  const deep = darker(bloom, 0.32)
  const pale = lighter(bloom, 0.18)
  const sway = 3 * wave(phase, index * 0.37)
  const flower = `${shape('M-40 -146C-44 -112 -22 -98 0 -98C22 -98 44 -112 40 -146C30 -132 16 -128 0 -128C-16 -128 -30 -132 -40 -146Z', deep)}${shape('M-40 -148C-50 -174 -18 -192 0 -184C18 -192 50 -174 40 -148C38 -122 20 -108 0 -108C-20 -108 -38 -122 -40 -148Z', bloom)}${shape('M-40 -148C-26 -150 -8 -140 4 -112C-18 -108 -38 -122 -40 -148Z', pale)}${shape('M40 -148C26 -152 4 -144 -6 -110C18 -106 38 -122 40 -148Z', darker(bloom, 0.14))}${ellipse(0, -164, 25, 17, deep)}${line('M-19 -166C-16 -180 14 -182 18 -168C20 -156 -6 -152 -10 -162C-12 -172 6 -174 9 -166', pale, 4.4)}`
  const thorns = shape('M2 -60l10 -6l-8 -4ZM-2 -34l-10 -6l8 -4Z', stem)
  return rotated(
    sway,
    0,
    0,
    `${line('M0 0C-5 -34 4 -66 0 -104', stem, 6.5)}${thorns}${leaves(stem, -1, -46)}${leaves(darker(stem, 0.14), 1, -66)}${shape('M-20 -104Q0 -120 20 -104Q8 -90 0 -92Q-8 -90 -20 -104Z', stem)}${flower}`,
  )
}

export function drawTree({ colour, lit, phase, index, word }: Look): string {
  const bark = lit('#7a5537')
  const leaf = lit(colour)
  const sway = 1.4 * wave(phase, index * 0.41)
  if (/^(?:pine|fir|christmas)/.test(word))
    return pineTree(leaf, bark, sway, word.startsWith('christmas'), lit)
  if (word.startsWith('palm')) return palmTree(lit, bark, sway)
  const crown = [
    [-62, -170, 54, 0.2],
    [60, -172, 54, 0.24],
    [-30, -146, 50, 0.26],
    [34, -144, 48, 0.3],
    [0, -222, 62, 0],
    [-44, -206, 50, 0.04],
    [44, -204, 50, 0.1],
    [0, -176, 60, 0.08],
  ] as const
  const foliage = crown.map(([x, y, r, shade]) => circle(x, y, r, darker(leaf, shade))).join('')
  const gleam = circle(-26, -236, 26, lighter(leaf, 0.18)) + circle(-62, -200, 17, lighter(leaf, 0.14))
  const fruit = /^(?:apple|orange|cherry)/.test(word)
    ? (
        [
          [-58, -158],
          [-20, -190],
          [26, -160],
          [58, -196],
          [4, -232],
          [-44, -222],
          [40, -236],
          [-4, -148],
        ] as const
      )
        .map(([x, y]) => circle(x, y, 9, lit(word.startsWith('orange') ? '#f08a2c' : '#d8342c')))
        .join('')
    : ''
  return `${shadow(150)}${shape('M-20 0Q-12 -50 -14 -110L-50 -150L-38 -158L-6 -128L-2 -170H10L10 -128L40 -156L50 -148L18 -106Q14 -50 26 0Z', bark)}${shape('M4 0Q10 -60 6 -120L18 -106Q14 -50 26 0Z', darker(bark, 0.25))}${rotated(sway, 0, -60, foliage + gleam + fruit)}`
}

function pineTree(leaf: string, bark: string, sway: number, dressed: boolean, lit: Look['lit']): string {
  const green = mix(leaf, lit('#2f6f4a'), 0.6)
  const tiers = ['M0 -270L-46 -186H46Z', 'M0 -226L-66 -122H66Z', 'M0 -172L-86 -48H86Z']
  const art = tiers
    .map((tier, index) => shape(tier, darker(green, 0.2 - 0.08 * index)))
    .toReversed()
    .join('')
  const baubles = dressed
    ? (
        [
          [-24, -196, '#e2483d'],
          [20, -166, '#f6c92f'],
          [-40, -134, '#4f8fe0'],
          [34, -112, '#e2483d'],
          [-10, -96, '#f6c92f'],
          [-56, -66, '#e2483d'],
          [50, -66, '#4f8fe0'],
          [4, -228, '#f6c92f'],
        ] as const
      )
        .map(([x, y, tone]) => circle(x, y, 8, lit(tone)))
        .join('') +
      shape(
        'M0 -292L6 -276L22 -276L10 -266L14 -250L0 -260L-14 -250L-10 -266L-22 -276L-6 -276Z',
        lit('#f9d648'),
      )
    : ''
  return `${shadow(130)}${shape('M-13 0V-54H13V0Z', bark)}${rotated(sway, 0, 0, art + baubles)}`
}

function palmTree(lit: Look['lit'], bark: string, sway: number): string {
  const green = lit('#3f9a58')
  let fronds = ''
  for (const [degrees, shade] of [
    [-8, 0.2],
    [-62, 0.1],
    [-118, 0.16],
    [-172, 0.06],
    [-30, 0],
    [-146, 0.12],
  ] as const) {
    fronds += rotated(
      degrees,
      28,
      -232,
      shape('M28 -232C66 -254 116 -248 138 -214C104 -228 70 -222 28 -232Z', darker(green, shade)),
    )
  }
  return `${shadow(90)}${shape('M-14 0C-8 -80 2 -160 22 -236L34 -232C22 -160 14 -80 14 0Z', bark)}${line('M-10 -40L13 -40M-8 -80L15 -80M-3 -120L18 -120M3 -160L22 -160M12 -200L28 -198', darker(bark, 0.3), 3)}${rotated(sway * 2, 20, -160, fronds + circle(20, -224, 9, lit('#6b4a2c')) + circle(38, -222, 9, lit('#5c3f26')))}`
}
