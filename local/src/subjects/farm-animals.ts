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

export function drawHorse(look: Look): string {
  return horse(look, { body: '', neck: '', mane: undefined })
}

/** `marks` are painted on the coat. */
function horse(
  { colour, lit, phase, going, word }: Look,
  marks: { body: string; neck: string; mane: string | undefined },
): string {
  const coat = lit(colour)
  const far = darker(coat, 0.26)
  const mane = marks.mane ?? darker(coat, 0.55)
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
  return `${shadow(190, -4)}<g transform="translate(0 ${bob.toFixed(1)})">${tail}${leg(limb(-44, far), phase + 0.35, reach, 9)}${leg(limb(50, far), phase + 0.1, reach, 9)}${shape('M-76 -124C-50 -140 30 -138 62 -134C84 -128 86 -100 72 -84C52 -76 40 -84 4 -80C-24 -76 -50 -76 -66 -86C-82 -96 -84 -114 -76 -124Z', coat)}${marks.body}${leg(limb(-56, coat), phase, reach, 9)}${leg(limb(60, coat), phase + 0.6, reach, 9)}${rotated(nod, -52, -118, neck + marks.neck + head)}</g>`
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

export function drawZebra(look: Look): string {
  const stripe = look.lit('#2a262c')
  const body = line(
    'M-60 -130Q-66 -106 -58 -86M-36 -134Q-42 -108 -34 -82M-12 -136Q-18 -110 -10 -84M12 -136Q6 -112 14 -86M36 -135Q30 -112 38 -88M58 -132Q52 -110 58 -90',
    stripe,
    7,
  )
  const neck = line('M-88 -186L-66 -194M-82 -168L-56 -178M-78 -150L-46 -160M-72 -132L-38 -142', stripe, 6)
  return horse(look, { body, neck, mane: stripe })
}

export function drawGoat({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.22)
  const horn = lit('#8f7f6a')
  const limb = (x: number, shade: string) => ({
    ...{ x, y: -48, length: 44, width: 11, colour: shade, foot: lit('#3a3236') },
  })
  const chew = 3 * wave(phase, 0, 2)
  return `${shadow(140)}${shape('M60 -92Q80 -112 84 -88Q76 -78 62 -78Z', coat)}${leg(limb(-32, far), 0, 0, 5)}${leg(limb(40, far), 0, 0, 5)}${shape('M-56 -88C-34 -102 40 -102 64 -92C74 -76 70 -50 58 -44C24 -36 -24 -36 -46 -44C-64 -58 -66 -78 -56 -88Z', coat)}${leg(limb(-42, coat), 0, 0, 5)}${leg(limb(48, coat), 0, 0, 5)}${shape('M-46 -92L-72 -126L-92 -104L-58 -64Z', coat)}<g transform="translate(0 ${chew.toFixed(1)})">${line('M-80 -138C-76 -162 -58 -170 -46 -164M-90 -138C-90 -160 -78 -172 -64 -172', horn, 7)}${ellipse(-62, -126, 17, 7, far, 'transform="rotate(22 -62 -126)"')}${shape('M-70 -138C-92 -144 -106 -132 -116 -112C-122 -100 -114 -92 -102 -94C-86 -98 -66 -108 -64 -122Z', coat)}${shape('M-108 -94C-106 -82 -102 -72 -98 -66C-94 -76 -92 -86 -92 -98Z', lighter(coat, 0.5))}${ellipse(-115, -104, 5, 4, '#4a3a3e')}${circle(-92, -124, 4.2, '#17151a')}${circle(-93.4, -125.4, 1.4, '#ffffff')}</g>`
}

export function drawPig({ colour, lit, phase }: Look): string {
  const skin = lit(colour)
  const far = darker(skin, 0.18)
  const snout = mix(skin, '#d8627c', 0.4)
  const limb = (x: number, shade: string) => ({
    ...{ x, y: -36, length: 32, width: 18, colour: shade, foot: darker(skin, 0.4) },
  })
  const sniff = 3 * wave(phase, 0, 2)
  const curl = line(`M82 -76q14 -12 18 ${2 + 3 * wave(phase)}q2 14 -10 10q-8 -6 2 -14`, far, 5)
  return `${shadow(180)}${curl}${leg(limb(-34, far), 0, 0, 5)}${leg(limb(52, far), 0, 0, 5)}${ellipse(10, -68, 76, 46, skin)}${leg(limb(-44, skin), 0, 0, 5)}${leg(limb(60, skin), 0, 0, 5)}<g transform="translate(0 ${sniff.toFixed(1)})">${shape('M-98 -108L-108 -138L-76 -122Z', far)}${shape('M-54 -118L-42 -142L-34 -104Z', far)}${ellipse(-70, -84, 44, 40, skin)}${ellipse(-98, -76, 21, 18, snout)}${ellipse(-105, -77, 3.6, 5, darker(snout, 0.5))}${ellipse(-92, -77, 3.6, 5, darker(snout, 0.5))}${circle(-90, -100, 4.6, '#17151a')}${circle(-91.4, -101.6, 1.5, '#ffffff')}${circle(-58, -100, 4.6, '#17151a')}${circle(-59.4, -101.6, 1.5, '#ffffff')}${line('M-92 -54Q-78 -48 -66 -56', darker(skin, 0.5), 2.4)}${ellipse(-52, -80, 8, 5, '#e8607a', 'opacity="0.4"')}</g>`
}

export function drawChicken({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.24)
  const red = lit('#d8342c')
  const gold = lit('#f0a136')
  const peck = 7 * Math.max(0, wave(phase, 0, 2))
  const legs = line('M-8 -34V-4M-8 -4L-20 0M-8 -4L2 0M14 -34V-4M14 -4L2 0M14 -4L24 0', gold, 5)
  const tail = `${shape('M40 -74C58 -112 84 -122 98 -108C92 -86 76 -66 52 -54Z', dark)}${shape('M38 -72C46 -108 62 -126 78 -124C80 -100 66 -76 48 -60Z', coat)}`
  const head = rotated(
    -peck,
    -10,
    -74,
    `${shape('M-52 -128C-34 -136 -14 -110 2 -78L-44 -56C-52 -76 -58 -100 -52 -128Z', coat)}${circle(-42, -122, 20, coat)}${shape('M-60 -136Q-58 -158 -46 -148Q-42 -166 -32 -150Q-20 -158 -24 -138Q-40 -146 -60 -136Z', red)}${shape('M-60 -126L-82 -118L-59 -112Z', gold)}${ellipse(-58, -102, 7, 11, red)}${circle(-47, -126, 3.8, '#16141a')}${circle(-48.2, -127.2, 1.3, '#ffffff')}`,
  )
  return `${shadow(96)}${legs}${tail}${shape('M-46 -84C-44 -48 -28 -28 4 -28C36 -28 56 -48 54 -76C34 -66 10 -74 -10 -86Z', coat)}${shape('M-12 -66C6 -78 30 -72 40 -60C30 -42 0 -40 -12 -66Z', dark)}${head}`
}
