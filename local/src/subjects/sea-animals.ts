import { mix } from '../drawing/colour.ts'
import { circle, darker, ellipse, lighter, line, shape, rotated, wave, type Look } from '../drawing/pen.ts'

export function drawWhale({ colour, lit, phase, palette }: Look): string {
  const back = lit(colour)
  const foam = mix(palette.light, palette.horizon, 0.3)
  const spout = 10 * wave(phase)
  const tail = rotated(
    5 * wave(phase, 0.2),
    42,
    0,
    shape(
      'M30 0C33 -18 36 -34 38 -47C22 -52 -8 -60 -26 -88C-8 -87 24 -88 42 -68C60 -88 92 -87 110 -88C92 -60 62 -52 46 -47C48 -34 51 -18 54 0Z',
      darker(back, 0.12),
    ),
  )
  return `${tail}${shape('M-216 2C-216 -34 -186 -56 -146 -58C-96 -60 -48 -34 -14 2Z', back)}${shape('M-212 -8C-190 0 -150 4 -120 2H-216Z', lighter(back, 0.45))}${circle(-182, -18, 4.6, '#101018')}${line('M-204 -16Q-196 -8 -178 -6', darker(back, 0.4), 2)}${line(`M-150 -60C-152 -${82 + spout} -162 -${94 + spout} -180 -${96 + spout}M-148 -60C-146 -${84 + spout} -138 -${98 + spout} -120 -${100 + spout}M-149 -62V-${108 + spout}`, foam, 4.4, 'stroke-opacity="0.7"')}${line('M-226 3H-4M14 3H72', foam, 4, 'stroke-opacity="0.6"')}${line('M-200 11H-40M24 11H62', foam, 2.6, 'stroke-opacity="0.35"')}`
}

/** Leaps out of the water. */
export function drawDolphin({ colour, lit, phase }: Look): string {
  const back = lit(colour)
  const belly = lighter(back, 0.65)
  const leap = 24 * wave(phase)
  return `<g transform="translate(0 ${(-40 - leap).toFixed(1)}) rotate(${(6 * wave(phase, 0.25)).toFixed(1)})">${shape('M-116 8C-108 -4 -96 -10 -88 -14C-62 -52 -6 -64 40 -44C62 -34 78 -12 92 14C106 8 120 14 128 28C114 26 104 28 96 34C94 46 84 54 70 56C74 44 76 32 72 24C40 -2 -10 6 -46 14C-70 18 -92 16 -116 8Z', back)}${shape('M-112 8C-70 6 -20 -8 30 0C-6 6 -36 12 -56 15C-78 17 -96 15 -112 8Z', belly)}${shape('M-2 -58C10 -76 24 -86 42 -86C34 -74 34 -60 38 -46Z', darker(back, 0.15))}${shape('M-40 2C-36 22 -24 34 -10 38C-12 24 -16 10 -18 -2Z', darker(back, 0.15))}${circle(-76, -10, 4.4, '#111118')}</g>${line('M-70 10Q0 18 80 10M-50 18Q0 24 60 18', '#ffffff', 3, 'stroke-opacity="0.5"')}`
}

export function drawTurtle({ colour, lit, phase }: Look): string {
  const shell = lit(colour)
  const skin = lit('#8fb36a')
  const paddle = 18 * wave(phase)
  return `${rotated(paddle, -30, 8, shape('M-40 2C-50 24 -66 44 -86 46C-78 26 -66 8 -52 0Z', skin))}${rotated(-paddle, 44, 10, shape('M40 6C52 22 64 32 80 32C76 18 64 4 52 0Z', skin))}${ellipse(-82, -10, 24, 18, skin)}${circle(-90, -14, 4, '#14131a')}${shape('M-66 8C-58 -48 50 -52 70 8Q0 28 -66 8Z', shell)}${shape('M-66 8Q0 28 70 8Q60 24 0 26Q-56 24 -66 8Z', lighter(shell, 0.45))}${line('M-40 -18L-20 -36L14 -36L30 -16L12 4L-22 4ZM-40 -18L-60 -8M30 -16L58 -8M-22 4L-28 14M12 4L18 14M-20 -36L-24 -42M14 -36L18 -42', darker(shell, 0.35), 3)}`
}
