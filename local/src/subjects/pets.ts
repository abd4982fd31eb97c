import { mix } from '../drawing/colour.ts'
import {
  box,
  circle,
  darker,
  ellipse,
  leg,
  lighter,
  line,
  shadow,
  shape,
  rotated,
  wave,
  type Look,
} from '../drawing/pen.ts'

/** Sits and looks at the viewer. */
export function drawCat({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.28)
  const pale = lighter(coat, 0.55)
  const blink = phase > 0.46 && phase < 0.54
  const swish = 12 * wave(phase)
  const tail = line(
    `M36 -12C72 -4 ${86 + swish} -34 ${72 + swish * 1.4} -70C${69 + swish * 1.5} -80 ${78 + swish * 1.7} -88 ${86 + swish * 1.8} -84`,
    coat,
    15,
  )
  const ear = (side: number) =>
    shape(`M${side * 10} -134L${side * 36} -166L${side * 41} -118Z`, coat) +
    shape(`M${side * 18} -136L${side * 33} -156L${side * 36} -126Z`, lit('#e9a8a0'))
  const eye = (x: number) =>
    blink
      ? line(`M${x - 9} -113Q${x} -108 ${x + 9} -113`, darker(coat, 0.6), 2.6)
      : ellipse(x, -114, 9.5, 9, lit('#c9dd6a')) +
        ellipse(x, -114, 3.4, 8, '#15161c') +
        circle(x - 2.6, -117, 2.2, '#ffffff')
  const whiskers = [-1, 1]
    .map((side) =>
      line(
        `M${side * 14} -98L${side * 54} -105M${side * 14} -95L${side * 56} -94M${side * 14} -92L${side * 52} -83`,
        lighter(coat, 0.75),
        1.3,
        'stroke-opacity="0.85"',
      ),
    )
    .join('')
  const stripes = line('M0 -139V-126M-11 -137L-9 -127M11 -137L9 -127', dark, 4)
  return `${shadow(128, 12)}${tail}${shape('M-46 -4C-58 -50 -34 -98 0 -98C34 -98 58 -50 46 -4Q0 6 -46 -4Z', coat)}${line('M-40 -58L-26 -54M-43 -42L-28 -38M40 -58L26 -54M43 -42L28 -38', dark, 5)}${ellipse(-36, -12, 19, 13, dark)}${ellipse(36, -12, 19, 13, dark)}${shape('M-16 -92Q0 -100 16 -92Q18 -60 10 -40H-10Q-18 -60 -16 -92Z', pale)}${box(-20, -58, 17, 58, coat, 8)}${box(3, -58, 17, 58, coat, 8)}${ellipse(-12, -5, 12, 7, pale)}${ellipse(12, -5, 12, 7, pale)}${ear(-1)}${ear(1)}${ellipse(0, -112, 44, 36, coat)}${stripes}${ellipse(-11, -95, 14, 11, pale)}${ellipse(11, -95, 14, 11, pale)}${eye(-18)}${eye(18)}${shape('M-6 -103H6L0 -96Z', lit('#d9737c'))}${line('M0 -96V-92M0 -92Q-6 -86 -12 -90M0 -92Q6 -86 12 -90', darker(coat, 0.6), 1.8)}${whiskers}`
}

export function drawDog({ colour, lit, phase, going }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.24)
  const dark = darker(coat, 0.42)
  const pale = lighter(coat, 0.4)
  const reach = going ? 0.62 : 0
  const limb = (x: number, colourOf: string) => ({ x, y: -48, length: 46, width: 15, colour: colourOf })
  const bob = going ? 3 * wave(phase, 0, 2) : 0
  const wag = rotated(
    going ? 10 * wave(phase, 0, 2) : 24 * wave(phase, 0, 3),
    54,
    -74,
    line('M54 -72C74 -78 86 -94 88 -112', coat, 12),
  )
  const head = `${shape('M-58 -92Q-40 -72 -36 -56L-66 -62Z', coat)}${ellipse(-72, -104, 29, 27, coat)}${shape('M-80 -112C-100 -112 -120 -104 -120 -92C-120 -80 -102 -76 -82 -80Z', pale)}${ellipse(-118, -99, 8, 6.5, '#1b191c')}${line('M-112 -83Q-98 -78 -90 -84', '#3a2522', 2)}${shape('M-106 -80Q-110 -60 -102 -58Q-95 -60 -97 -79Z', lit('#e8707a'))}${circle(-86, -110, 4.6, '#17151a')}${circle(-87.5, -111.5, 1.5, '#ffffff')}${rotated(going ? 9 * wave(phase) : 3 * wave(phase), -58, -124, shape('M-68 -128C-46 -134 -34 -112 -40 -82C-54 -76 -66 -92 -68 -128Z', dark))}`
  return `${shadow(150, -8)}<g transform="translate(0 ${bob.toFixed(1)})">${wag}${leg(limb(-34, far), phase + 0.5, reach)}${leg(limb(36, far), phase, reach)}${shape('M-58 -84C-30 -94 30 -94 54 -82C66 -66 60 -44 44 -40C10 -32 -22 -32 -44 -38C-64 -46 -68 -72 -58 -84Z', coat)}${shape('M-54 -58C-40 -40 -20 -36 6 -36C-16 -28 -42 -32 -54 -58Z', pale)}${leg(limb(-44, coat), phase, reach)}${leg(limb(44, coat), phase + 0.5, reach)}${head}${line('M-58 -78Q-46 -74 -38 -82', lit('#d03b3b'), 7)}${circle(-52, -70, 4.4, lit('#f2c14e'))}</g>`
}

export function drawRabbit({ colour, lit, phase, going }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.18)
  const hop = going ? -26 * Math.max(0, wave(phase)) : 0
  const twitch = 3 * wave(phase, 0, 3)
  const ear = (x: number, degrees: number, shade: string) =>
    rotated(degrees, x, -84, ellipse(x, -112, 8, 31, shade) + ellipse(x, -110, 4, 23, lit('#eeb0b4')))
  return `${shadow(92)}<g transform="translate(0 ${hop.toFixed(1)})">${circle(47, -22, 13, lighter(coat, 0.6))}${ellipse(10, -32, 42, 32, coat)}${ellipse(26, -16, 26, 17, dark)}${ellipse(14, -5, 25, 7, coat)}${ellipse(-20, -6, 16, 7, coat)}${ear(-30, -12 + twitch, dark)}${ear(-20, 10 + twitch, coat)}${ellipse(-30, -64, 27, 24, coat)}${ellipse(-46, -56, 13, 11, lighter(coat, 0.5))}${circle(-38, -69, 4.6, '#18161b')}${circle(-39.4, -70.6, 1.5, '#ffffff')}${ellipse(-57, -60, 4, 3, lit('#d77a84'))}${line('M-50 -52L-70 -46M-50 -55L-72 -54', lighter(coat, 0.7), 1.2)}</g>`
}

export function drawBear({ colour, lit, phase, going }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.25)
  const pale = mix(coat, '#e8c79a', 0.45)
  const reach = going ? 0.42 : 0.08
  const limb = (x: number, colourOf: string) => ({ x, y: -56, length: 52, width: 30, colour: colourOf })
  const nod = 3 * wave(phase)
  return `${shadow(210)}${leg(limb(-36, far), phase + 0.5, reach, 10)}${leg(limb(58, far), phase, reach, 10)}${shape('M-78 -92C-60 -132 -10 -130 30 -128C76 -126 98 -92 90 -58C70 -36 -40 -34 -64 -46C-82 -56 -86 -76 -78 -92Z', coat)}${leg(limb(-52, coat), phase, reach, 10)}${leg(limb(66, coat), phase + 0.5, reach, 10)}<g transform="translate(0 ${nod.toFixed(1)})">${circle(-104, -138, 12, coat)}${circle(-74, -142, 13, coat)}${circle(-73, -141, 6, far)}${ellipse(-90, -112, 36, 33, coat)}${ellipse(-116, -102, 19, 15, pale)}${ellipse(-130, -108, 8, 6, '#1b1718')}${circle(-102, -120, 4.6, '#17151a')}${line('M-128 -98Q-118 -92 -108 -96', '#33211b', 2)}</g>`
}
