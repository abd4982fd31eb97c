import { mix } from '../drawing/colour.ts'
import {
  box,
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

/** The height of the opening of the vase, where flowers are placed. */
export const vaseMouth = 112

export function drawVase({ colour, lit }: Look): string {
  const glaze = lit(colour)
  return `${shadow(96)}${shape('M-26 -118H26Q18 -100 34 -82C54 -58 44 -14 28 0H-28C-44 -14 -54 -58 -34 -82Q-18 -100 -26 -118Z', glaze)}${shape('M8 -118H26Q18 -100 34 -82C54 -58 44 -14 28 0H6C30 -24 34 -62 18 -86Q4 -102 8 -118Z', darker(glaze, 0.2))}${line('M-34 -66Q-40 -40 -30 -18', lighter(glaze, 0.65), 6, 'stroke-opacity="0.7"')}${ellipse(0, -118, 26, 6, darker(glaze, 0.35))}${line('M-42 -52Q0 -40 42 -52', lighter(glaze, 0.4), 4, 'stroke-opacity="0.7"')}`
}

export function drawCup({ colour, lit, phase }: Look): string {
  const glaze = lit(colour)
  let steam = ''
  for (const [index, x] of [-22, 2, 26].entries()) {
    const bend = 8 * wave(phase, index * 0.33)
    steam += line(
      `M${x} -98C${x + bend} -112 ${x - bend} -126 ${x + bend * 0.6} -146`,
      '#ffffff',
      5,
      'stroke-opacity="0.5"',
    )
  }
  return `${shadow(150)}${steam}${ellipse(0, -4, 76, 11, darker(glaze, 0.15))}${ellipse(0, -8, 66, 8, glaze)}${line('M48 -72C84 -78 86 -34 42 -30', glaze, 11)}${shape('M-54 -88H54C56 -44 38 -10 24 -8H-24C-38 -10 -56 -44 -54 -88Z', glaze)}${shape('M22 -88H54C56 -44 38 -10 24 -8H6C22 -24 28 -56 22 -88Z', darker(glaze, 0.16))}${ellipse(0, -88, 54, 10, darker(glaze, 0.25))}${ellipse(0, -87, 48, 7.5, lit('#6a3c1e'))}`
}

export function drawCake({ colour, lit, phase }: Look): string {
  const icing = lit(colour)
  const sponge = lit('#e9c48c')
  let candles = ''
  for (const [index, x] of [-44, -15, 15, 44].entries()) {
    const lean = 2.4 * wave(phase, index * 0.27, 2)
    candles += `${box(x - 4, -158, 8, 38, lit(['#4f8fe0', '#f6c92f', '#e2605a', '#58b368'][index]!), 2)}${shape(`M${x - 6} -162Q${x - 6} -172 ${x + lean} -184Q${x + 6} -172 ${x + 6} -162Q${x} -156 ${x - 6} -162Z`, '#ffb63a')}${circle(x, -164, 3, '#fff3c4')}`
  }
  return `${shadow(220)}${ellipse(0, -6, 112, 14, lit('#dfe3ea'))}${candles}${shape('M-90 -70V-12Q0 8 90 -12V-70Z', sponge)}${shape('M-90 -44Q0 -24 90 -44V-34Q0 -14 -90 -34Z', lighter(icing, 0.3))}${shape('M-70 -124V-70Q0 -56 70 -70V-124Z', sponge)}${shape('M-92 -76Q0 -94 92 -76V-62Q84 -46 74 -60Q64 -44 52 -56Q40 -38 26 -52Q12 -34 -2 -50Q-16 -34 -30 -52Q-42 -40 -54 -56Q-66 -44 -76 -60Q-86 -48 -92 -62Z', icing)}${shape('M-72 -126Q0 -142 72 -126V-112Q60 -98 48 -110Q34 -94 20 -108Q4 -92 -10 -108Q-26 -94 -38 -110Q-54 -98 -72 -112Z', icing)}`
}

export function drawApple({ colour, lit, index }: Look): string {
  const skin = lit(colour)
  return `${shadow(84)}${shape('M0 -66C-16 -80 -52 -74 -52 -38C-52 -10 -28 4 -12 0Q0 -4 12 0C28 4 52 -10 52 -38C52 -74 16 -80 0 -66Z', skin)}${shape('M20 -74C44 -72 52 -56 52 -38C52 -10 28 4 12 0C40 -12 44 -52 20 -74Z', darker(skin, 0.2))}${line('M0 -64Q2 -80 10 -90', lit('#6a4629'), 5)}${rotated(index * 4, 8, -82, shape('M8 -82Q28 -102 46 -88Q32 -72 8 -82Z', lit('#5aa04e')))}${ellipse(-28, -50, 8, 13, lighter(skin, 0.6), 'transform="rotate(24 -28 -50)" opacity="0.75"')}`
}

export function drawBall({ colour, lit, phase }: Look): string {
  const skin = lit(colour)
  const hop = -30 * Math.abs(wave(phase))
  return `${shadow(70)}<g transform="translate(0 ${hop.toFixed(1)})">${circle(0, -34, 34, skin)}${rotated(phase * 360, 0, -34, `${shape('M0 -68A34 34 0 0 1 29 -17Q10 -30 0 -68Z', lit('#f7f4ee'))}${shape('M-29 -51A34 34 0 0 0 -29 -17Q-8 -34 -29 -51Z', lit('#f6c92f'))}${circle(0, -34, 7, lit('#f7f4ee'))}`)}${ellipse(-12, -48, 8, 6, '#ffffff', 'opacity="0.55"')}</g>`
}

export function drawTeddy({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const pale = mix(coat, '#f3dfbf', 0.6)
  const dark = darker(coat, 0.2)
  const nod = 2 * wave(phase)
  return `${shadow(140)}${ellipse(-42, -72, 15, 28, dark, 'transform="rotate(28 -42 -72)"')}${ellipse(42, -72, 15, 28, dark, 'transform="rotate(-28 42 -72)"')}${ellipse(0, -54, 44, 50, coat)}${ellipse(0, -50, 28, 34, pale)}${ellipse(-42, -16, 27, 20, dark)}${ellipse(42, -16, 27, 20, dark)}${ellipse(-46, -16, 15, 13, pale)}${ellipse(46, -16, 15, 13, pale)}<g transform="rotate(${nod.toFixed(1)} 0 -100)">${circle(-34, -158, 18, coat)}${circle(34, -158, 18, coat)}${circle(-34, -158, 10, pale)}${circle(34, -158, 10, pale)}${ellipse(0, -130, 44, 39, coat)}${ellipse(0, -116, 21, 17, pale)}${ellipse(0, -124, 8, 6, '#241b1a')}${line('M0 -118V-110M-8 -106Q0 -100 8 -106', '#3a2a26', 2.4)}${circle(-18, -138, 5, '#1b1618')}${circle(18, -138, 5, '#1b1618')}</g>${shape('M-4 -92L-24 -102V-82ZM4 -92L24 -102V-82Z', lit('#d8433a'))}${circle(0, -92, 6, lit('#b3342c'))}`
}

export function drawUmbrella({ colour, lit }: Look): string {
  const cloth = lit(colour)
  return `${line('M0 -150V-22Q0 -2 18 -6', lit('#6a4629'), 6)}${shape('M-104 -120C-96 -190 -44 -214 0 -214C44 -214 96 -190 104 -120Q88 -134 70 -120Q52 -136 34 -120Q18 -136 0 -120Q-18 -136 -34 -120Q-52 -136 -70 -120Q-88 -134 -104 -120Z', cloth)}${shape('M0 -214C-18 -190 -32 -160 -34 -120Q-18 -136 0 -120Q18 -136 34 -120C32 -160 18 -190 0 -214Z', lighter(cloth, 0.22))}${line('M0 -214V-226', lit('#6a4629'), 5)}`
}

export function drawGuitar({ colour, lit, phase }: Look): string {
  const wood = lit(colour)
  const dark = darker(wood, 0.45)
  const quiver = 1.6 * wave(phase, 0, 3)
  const strings = [-6, -2, 2, 6]
    .map((x) => line(`M${x} -232Q${x + quiver} -140 ${x} -58`, lit('#f1e6cf'), 1.4))
    .join('')
  return `${shadow(120)}<g transform="rotate(9)">${box(-11, -250, 22, 130, lit('#4a3020'), 3)}${shape('M-15 -250L-19 -292Q0 -302 19 -292L15 -250Z', dark)}${[-284, -272, -260].map((y) => circle(-22, y, 4, lit('#d9d2c4')) + circle(22, y, 4, lit('#d9d2c4'))).join('')}${shape('M0 -146C-34 -150 -48 -126 -40 -104C-36 -92 -66 -82 -64 -46C-62 -16 -34 -4 0 -4C34 -4 62 -16 64 -46C66 -82 36 -92 40 -104C48 -126 34 -150 0 -146Z', dark)}${shape('M0 -140C-30 -144 -42 -124 -34 -102C-30 -88 -58 -80 -57 -46C-56 -20 -32 -10 0 -10C32 -10 56 -20 57 -46C58 -80 30 -88 34 -102C42 -124 30 -144 0 -140Z', wood)}${circle(0, -86, 19, dark)}${circle(0, -86, 15, lit('#2a1a12'))}${box(-26, -44, 52, 9, dark, 3)}${strings}</g>`
}
