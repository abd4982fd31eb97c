import { mix } from '../drawing/colour.ts'
import {
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

export function drawHorse({ colour, lit, phase, going, word }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.26)
  const mane = darker(coat, 0.55)
  const reach = going ? 0.6 : 0
  const limb = (x: number, colourOf: string) => ({
    ...{ x, y: -84, length: 80, width: 13, colour: colourOf, foot: darker(coat, 0.65) },
  })
  const nod = (going ? 4 : 3) * wave(phase, 0, going ? 2 : 1)
  const bob = going ? 4 * wave(phase, 0.1, 2) : 0
  const tail = rotated(
    (going ? 14 : 7) * wave(phase),
    70,
    -124,
    shape('M66 -128C96 -136 112 -104 104 -52C98 -66 92 -74 88 -86C82 -100 76 -108 64 -112Z', mane),
  )
  const neck = `${shape('M-74 -112C-84 -142 -88 -168 -102 -190L-78 -206C-52 -190 -36 -158 -26 -128Z', coat)}${shape('M-80 -208C-48 -198 -30 -166 -18 -128C-30 -130 -38 -136 -44 -144C-52 -166 -64 -186 -88 -196Z', mane)}`
  const horn = word === 'unicorn' ? shape('M-104 -206L-122 -262L-92 -212Z', lit('#f2cf6a')) : ''
  const head = `${horn}${shape('M-92 -214L-84 -232L-76 -208Z', coat)}${shape('M-78 -208C-90 -214 -106 -208 -114 -198L-144 -164C-150 -154 -144 -146 -134 -146C-118 -146 -104 -158 -88 -168C-74 -178 -70 -196 -78 -208Z', coat)}${ellipse(-138, -154, 11, 9, mix(coat, '#3a2a28', 0.35))}${circle(-142, -157, 2.2, '#17131a')}${circle(-104, -190, 4.4, '#17131a')}${circle(-105.3, -191.4, 1.4, '#ffffff')}${shape('M-84 -212C-98 -210 -106 -200 -108 -190C-98 -196 -90 -200 -80 -200Z', mane)}`
  return `${shadow(190, -4)}<g transform="translate(0 ${bob.toFixed(1)})">${tail}${leg(limb(-44, far), phase + 0.35, reach, 9)}${leg(limb(50, far), phase + 0.1, reach, 9)}${shape('M-76 -124C-50 -140 30 -138 62 -134C84 -128 86 -100 72 -84C52 -76 40 -84 4 -80C-24 -76 -50 -76 -66 -86C-82 -96 -84 -114 -76 -124Z', coat)}${leg(limb(-56, coat), phase, reach, 9)}${leg(limb(60, coat), phase + 0.6, reach, 9)}${rotated(nod, -52, -118, neck + head)}</g>`
}

export function drawSheep({ colour, lit, phase }: Look): string {
  const wool = lit(colour)
  const face = lit('#3a3236')
  const legs = [-30, -16, 18, 32]
    .map((x) => line(`M${x} -30V-4`, x === -16 || x === 18 ? darker(face, 0.3) : face, 8))
    .join('')
  let fleece = ''
  for (const [x, y, r] of [
    [-30, -52, 22],
    [-10, -66, 24],
    [16, -68, 24],
    [36, -52, 22],
    [22, -38, 22],
    [-6, -36, 24],
    [-24, -38, 18],
    [4, -52, 28],
  ] as const) {
    fleece += circle(x, y, r + 0.6 * wave(phase, x / 60), wool)
  }
  const curls = line('M-8 -60q8 -8 16 0M14 -48q8 -8 16 0M-14 -44q8 -8 16 0', darker(wool, 0.16), 2.4)
  const nod = 4 * wave(phase)
  return `${shadow(100)}${legs}${fleece}${curls}<g transform="translate(0 ${nod.toFixed(1)})">${ellipse(-34, -70, 12, 5, face, 'transform="rotate(24 -34 -70)"')}${ellipse(-54, -62, 17, 20, face)}${ellipse(-50, -80, 16, 10, wool)}${circle(-59, -66, 3.4, '#ffffff')}${circle(-60, -66, 1.8, '#111111')}</g>`
}

export function drawCow({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const spot = lit('#3b3030')
  const far = darker(coat, 0.2)
  const limb = (x: number, colourOf: string) => ({
    ...{ x, y: -60, length: 56, width: 16, colour: colourOf, foot: darker(spot, 0.2) },
  })
  const chew = 2.4 * wave(phase, 0, 2)
  const tail = rotated(
    12 * wave(phase),
    84,
    -116,
    line('M84 -116Q98 -90 94 -56', coat, 6) + ellipse(94, -50, 7, 12, spot),
  )
  return `${shadow(200)}${tail}${leg(limb(-44, far), 0, 0, 6)}${leg(limb(54, far), 0, 0, 6)}${shape('M-76 -110C-50 -128 50 -128 80 -120C94 -104 92 -70 78 -58C40 -46 -40 -46 -66 -58C-84 -74 -84 -98 -76 -110Z', coat)}${shape('M-30 -120C-4 -126 14 -112 6 -92C-10 -80 -36 -92 -30 -120Z', spot)}${shape('M46 -122C70 -126 86 -112 84 -92C66 -80 46 -96 46 -122Z', spot)}${ellipse(34, -52, 15, 9, lit('#eeb2ac'))}${leg(limb(-58, coat), 0, 0, 6)}${leg(limb(66, coat), 0, 0, 6)}${shape('M-66 -118Q-78 -96 -60 -70L-90 -86L-98 -120Z', coat)}<g transform="translate(0 ${chew.toFixed(1)})">${line('M-110 -142Q-122 -152 -118 -164M-82 -142Q-72 -154 -78 -166', lit('#e7dcc2'), 6)}${ellipse(-70, -136, 15, 7, spot, 'transform="rotate(18 -70 -136)"')}${shape('M-116 -142Q-96 -154 -76 -142Q-72 -112 -84 -88H-110Q-120 -112 -116 -142Z', coat)}${shape('M-116 -142Q-104 -152 -98 -140Q-100 -118 -112 -114Q-119 -126 -116 -142Z', spot)}${ellipse(-97, -90, 22, 15, lit('#eeb2ac'))}${circle(-104, -92, 2.8, '#5a3434')}${circle(-90, -92, 2.8, '#5a3434')}${circle(-106, -126, 4, '#f4f0ea')}${circle(-106, -126, 2.6, '#15131a')}${circle(-85, -126, 3.6, '#15131a')}</g>`
}

export function drawElephant({ colour, lit, phase, going }: Look): string {
  const skin = lit(colour)
  const far = darker(skin, 0.24)
  const reach = going ? 0.3 : 0.05
  const limb = (x: number, colourOf: string) => ({ x, y: -84, length: 76, width: 36, colour: colourOf })
  const sway = 12 * wave(phase)
  return `${shadow(270)}${line(`M112 -150Q130 -120 ${124 + sway * 0.5} -92`, far, 6)}${leg(limb(-40, far), phase + 0.5, reach, 4)}${leg(limb(72, far), phase, reach, 4)}${shape('M-84 -150C-60 -204 20 -206 66 -196C118 -182 128 -120 104 -82C60 -64 -40 -64 -70 -80C-90 -96 -94 -124 -84 -150Z', skin)}${leg(limb(-56, skin), phase, reach, 4)}${leg(limb(86, skin), phase + 0.5, reach, 4)}${ellipse(-98, -166, 48, 46, skin)}${line(`M-132 -150C-154 -128 -158 -94 ${-152 + sway * 0.4} -62C${-150 + sway * 0.6} -46 ${-164 + sway} -34 ${-172 + sway} -40`, skin, 25)}${shape('M-118 -132Q-146 -112 -150 -92Q-130 -100 -108 -124Z', lit('#f4ecd9'))}${rotated(6 * wave(phase, 0.2), -76, -196, shape('M-84 -196C-44 -216 -22 -186 -28 -146C-34 -112 -66 -106 -80 -128C-90 -150 -92 -180 -84 -196Z', darker(skin, 0.14)) + shape('M-76 -184C-52 -196 -38 -176 -42 -150C-48 -128 -64 -124 -72 -140C-80 -156 -82 -174 -76 -184Z', mix(skin, '#d99a94', 0.35)))}${circle(-116, -176, 5, '#17151a')}${circle(-117.4, -177.6, 1.6, '#ffffff')}${line('M-130 -130L-116 -128M-140 -112L-124 -108M-146 -92L-132 -90', lighter(far, 0.06), 2.4)}`
}
