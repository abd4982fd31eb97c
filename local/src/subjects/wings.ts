import { mix } from '../drawing/colour.ts'
import {
  circle,
  darker,
  ellipse,
  group,
  lighter,
  line,
  shadow,
  shape,
  rotated,
  wave,
  type Look,
} from '../drawing/pen.ts'

/** A single bird, seen from the side. */
export function drawBird({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.3)
  const pale = lighter(coat, 0.6)
  // Never 0, because flat wings would be invisible.
  const beat = 0.42 + 0.58 * wave(phase, 0.25)
  const wing = (shade: string, x: number, reach: number) =>
    group(
      `translate(${x} -8) scale(1 ${beat.toFixed(3)})`,
      shape(
        `M-14 0C-8 -24 10 -${reach} 46 -${reach + 14}C40 -${reach - 8} 44 -${reach - 22} 50 -${reach - 34}C40 -${reach - 36} 40 -${reach - 50} 42 -24C32 -10 16 2 -2 4Z`,
        shade,
      ),
    )
  return `<g transform="translate(0 ${(-6 * beat).toFixed(1)})">${wing(dark, -2, 74)}${shape('M34 -2L84 -14L78 -2L88 8L36 8Z', dark)}${shape('M-50 -10C-36 -24 10 -22 42 -4C30 14 -12 22 -36 12C-48 8 -54 0 -50 -10Z', coat)}${shape('M-44 4C-30 18 4 18 26 6C6 10 -24 8 -44 4Z', pale)}${circle(-46, -12, 18, coat)}${shape('M-62 -16L-84 -8L-61 -4Z', lit('#f0a136'))}${circle(-51, -16, 3.8, '#16141a')}${circle(-52.2, -17.2, 1.3, '#ffffff')}${wing(mix(coat, dark, 0.45), 4, 82)}</g>`
}

/** A distant flock. */
export function drawFlock({ palette, phase }: Look): string {
  const colour = mix(palette.near, palette.sky, 0.2)
  let art = ''
  for (let index = 0; index < 7; index++) {
    const rank = Math.ceil(index / 2) * (index % 2 === 0 ? 1 : -1)
    const x = Math.abs(rank) * 36 + 5 * Math.sin(index * 5.1)
    const y = rank * 18 + 6 * Math.cos(index * 3.7)
    const size = 0.95 + 0.2 * Math.sin(index * 2.3)
    const lift = -2 + 7 * wave(phase, index * 0.31)
    art += group(
      `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size.toFixed(2)})`,
      shape(
        `M-17 ${(lift - 4).toFixed(1)}Q-8 ${(lift - 9).toFixed(1)} 0 0Q8 ${(lift - 9).toFixed(1)} 17 ${(lift - 4).toFixed(1)}Q8 ${(lift - 5).toFixed(1)} 0 4Q-8 ${(lift - 5).toFixed(1)} -17 ${(lift - 4).toFixed(1)}Z`,
        colour,
      ),
    )
  }
  return art
}

export function drawDuck({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const wing = darker(coat, 0.14)
  const ripple = 5 * wave(phase)
  return `${line(`M${-62 - ripple} 2H${66 + ripple}M${-44 - ripple} 9H${48 + ripple}`, '#ffffff', 2.4, 'stroke-opacity="0.45"')}${shape('M-44 -26C-40 0 -20 2 8 2C36 2 54 -6 62 -36C46 -28 34 -34 14 -38C-8 -42 -24 -40 -44 -26Z', coat)}${shape('M-6 -28C14 -38 34 -32 46 -24C36 -8 6 -8 -6 -28Z', wing)}${shape('M-46 -20C-50 -44 -46 -56 -38 -62L-14 -56C-14 -44 -10 -38 0 -34Z', coat)}${circle(-32, -64, 21, coat)}${shape('M-50 -68C-62 -70 -74 -66 -78 -60C-72 -54 -58 -54 -48 -57Z', lit('#f08f2e'))}${circle(-38, -70, 3.8, '#16141a')}${circle(-39.2, -71.4, 1.3, '#ffffff')}`
}

export function drawOwl({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.35)
  const pale = lighter(coat, 0.5)
  const blink = phase > 0.44 && phase < 0.56
  const eye = (x: number) =>
    circle(x, -92, 18, pale) +
    (blink
      ? line(`M${x - 10} -92H${x + 10}`, dark, 4)
      : circle(x, -92, 12, lit('#f4c63d')) + circle(x, -92, 6.4, '#121118'))
  return `${line('M-96 2C-40 -6 40 -6 96 2', lit('#5f4430'), 14)}${shape('M-44 -112L-40 -136L-20 -122Q0 -128 20 -122L40 -136L44 -112C58 -70 48 -18 0 -4C-48 -18 -58 -70 -44 -112Z', coat)}${shape('M-24 -66Q0 -78 24 -66Q26 -26 0 -10Q-26 -26 -24 -66Z', pale)}${line('M-12 -54l6 6l6 -6l6 6l6 -6M-12 -38l6 6l6 -6l6 6l6 -6', dark, 2.6)}${shape('M-46 -84C-60 -52 -50 -24 -30 -14C-40 -38 -42 -60 -46 -84Z', dark)}${shape('M46 -84C60 -52 50 -24 30 -14C40 -38 42 -60 46 -84Z', dark)}${eye(-19)}${eye(19)}${shape('M-6 -84H6L0 -70Z', lit('#e9962f'))}${line('M-16 -4v8M-8 -4v8M8 -4v8M16 -4v8', lit('#e9962f'), 5)}`
}

export function drawButterfly({ colour, lit, phase }: Look): string {
  const tone = lit(colour)
  const edge = darker(tone, 0.6)
  // Seen from the side and above: the wings close almost completely and open again.
  const open = 0.35 + 0.65 * Math.abs(wave(phase))
  const half = (side: number) =>
    group(
      `scale(${(side * open).toFixed(3)} 1)`,
      `${shape('M2 -8C10 -58 60 -70 74 -46C80 -22 40 0 2 -2Z', tone, `stroke="${edge}" stroke-width="4"`)}${shape('M2 0C30 -2 58 12 50 36C40 54 10 36 2 6Z', lighter(tone, 0.25), `stroke="${edge}" stroke-width="4"`)}${circle(54, -44, 7, lighter(tone, 0.7))}${circle(36, -30, 5, lighter(tone, 0.6))}${circle(34, 26, 5, edge)}`,
    )
  return rotated(
    -14,
    0,
    0,
    `${half(-1)}${half(1)}${line('M0 -24V22', edge, 7)}${line('M0 -24Q-8 -40 -16 -44M0 -24Q8 -40 16 -44', edge, 2)}${circle(0, -26, 5, edge)}`,
  )
}

export function drawFish({ colour, lit, phase, index }: Look): string {
  const scale = lit(colour)
  const stripe = lighter(scale, 0.6)
  const fin = darker(scale, 0.2)
  const flick = 16 * wave(phase, index * 0.3)
  return `${group(`translate(52 0) scale(${(1 - Math.abs(flick) / 60).toFixed(2)} 1) rotate(${flick.toFixed(1)})`, shape('M-6 0L44 -34Q34 0 44 34Z', fin))}${shape('M-20 -34Q10 -66 36 -28Z', fin)}${shape('M-10 34Q8 56 24 28Z', fin)}${shape('M-68 2C-50 -44 20 -46 58 0C20 46 -50 44 -68 2Z', scale)}${shape('M-24 -34Q-14 0 -24 34Q-8 38 -2 36Q8 0 -2 -38Q-14 -38 -24 -34Z', stripe)}${shape('M18 -31Q26 0 18 31Q28 27 34 22Q40 0 34 -22Q26 -28 18 -31Z', stripe)}${circle(-44, -9, 9, '#ffffff')}${circle(-46, -9, 5, '#14131a')}${line('M-64 8Q-56 12 -50 8', darker(scale, 0.5), 2.4)}${rotated(flick * 0.8, -10, 8, shape('M-14 6Q10 6 14 22Q-6 26 -14 6Z', fin))}`
}

export function drawPenguin({ colour, lit, phase, index }: Look): string {
  const coat = lit(colour)
  const rock = 5 * wave(phase, index * 0.37)
  const flap = 14 * wave(phase, index * 0.37, 2)
  return `${shadow(70)}${rotated(
    rock,
    0,
    0,
    `${ellipse(-16, -4, 17, 7, lit('#f29b34'))}${ellipse(16, -4, 17, 7, lit('#f29b34'))}${rotated(flap, -34, -78, shape('M-36 -82C-56 -62 -58 -38 -50 -26C-42 -36 -38 -52 -32 -62Z', coat))}${rotated(-flap, 34, -78, shape('M36 -82C56 -62 58 -38 50 -26C42 -36 38 -52 32 -62Z', coat))}${shape('M-40 -56C-44 -104 -30 -138 0 -138C30 -138 44 -104 40 -56C42 -16 24 -4 0 -4C-24 -4 -42 -16 -40 -56Z', coat)}${shape('M-28 -50C-30 -84 -24 -104 -10 -112Q0 -106 10 -112C24 -104 30 -84 28 -50C28 -18 16 -8 0 -8C-16 -8 -28 -18 -28 -50Z', lit('#f7f4ec'))}${circle(-12, -114, 9, lit('#f7f4ec'))}${circle(12, -114, 9, lit('#f7f4ec'))}${circle(-11, -114, 4, '#15141a')}${circle(11, -114, 4, '#15141a')}${shape('M-10 -104H10L0 -92Z', lit('#f29b34'))}`,
  )}`
}
