import { mix } from '../drawing/colour.ts'
import {
  box,
  circle,
  darker,
  ellipse,
  leg,
  lighter,
  line,
  rotated,
  shadow,
  shape,
  wave,
  type Look,
} from '../drawing/pen.ts'

/** Sits, looks at the viewer and eats bamboo. */
export function drawPanda({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const black = lit('#26262c')
  const blink = phase > 0.46 && phase < 0.54
  const chew = 2.4 * wave(phase, 0, 3)
  const ear = (side: number) => circle(side * 44, -196, 19, black)
  const eye = (side: number) =>
    ellipse(side * 24, -156, 15, 19, black, `transform="rotate(${side * 28} ${side * 24} -156)"`) +
    (blink
      ? line(`M${side * 22 - 6} -156h12`, coat, 2.4)
      : circle(side * 21, -157, 5.4, '#ffffff') + circle(side * 20, -157, 3.2, '#15131a'))
  const bamboo = rotated(
    2 * wave(phase),
    -30,
    -96,
    `${line('M-92 -66L-10 -120', lit('#7fa84a'), 9)}${line('M-64 -90l-5 -7M-38 -107l-5 -7', lit('#5c7f34'), 3)}${shape('M-88 -70Q-104 -96 -92 -118Q-78 -98 -80 -76Z', lit('#6a9a3e'))}${shape('M-90 -68Q-120 -74 -126 -94Q-102 -92 -86 -74Z', lit('#7fb04a'))}`,
  )
  return `${shadow(180)}${ellipse(0, -64, 66, 64, coat)}${shape('M-64 -92Q0 -128 64 -92Q70 -112 44 -126Q0 -140 -44 -126Q-70 -112 -64 -92Z', black)}${ellipse(-52, -20, 34, 22, black)}${ellipse(52, -20, 34, 22, black)}${ellipse(-58, -20, 17, 14, lit('#4a4650'))}${ellipse(58, -20, 17, 14, lit('#4a4650'))}${ear(-1)}${ear(1)}${ellipse(0, -150, 62, 52, coat)}${eye(-1)}${eye(1)}<g transform="translate(0 ${chew.toFixed(1)})">${ellipse(0, -130, 22, 16, lighter(coat, 0.5))}${ellipse(0, -138, 8, 5.6, '#1b171b')}${line('M0 -133V-128M-9 -125Q0 -118 9 -125', '#3a2a2e', 2.4)}</g>${bamboo}${line('M56 -104Q44 -70 6 -84', black, 26)}${line('M-56 -104Q-62 -78 -42 -84', black, 26)}`
}

/** A lion or tiger that faces left. */
function bigCat(look: Look, coat: string, marks: { body: string; back: string; front: string }): string {
  const { lit, phase, going } = look
  const far = darker(coat, 0.24)
  const pale = lighter(coat, 0.55)
  const reach = going ? 0.46 : 0
  const limb = (x: number, shade: string) => ({ x, y: -62, length: 58, width: 22, colour: shade })
  const swish = (going ? 10 : 16) * wave(phase)
  const nod = 2.4 * wave(phase, 0.2)
  const tail = rotated(
    swish,
    84,
    -108,
    `${line('M82 -108C112 -104 122 -70 112 -40', coat, 11)}${ellipse(111, -36, 9, 14, darker(coat, 0.5))}`,
  )
  const head = `${marks.back}${circle(-112, -150, 12, coat)}${circle(-70, -154, 13, coat)}${circle(-70, -154, 6.5, far)}${ellipse(-92, -124, 37, 35, coat)}${marks.front}${ellipse(-112, -110, 21, 16, pale)}${shape('M-126 -120H-110L-117 -111Z', lit('#c9646a'))}${line('M-117 -111V-105M-117 -105Q-124 -98 -130 -103M-117 -105Q-110 -98 -103 -103', '#33211b', 2.2)}${circle(-106, -133, 5, '#17151a')}${circle(-107.6, -134.6, 1.7, '#ffffff')}${circle(-80, -132, 4.4, '#17151a')}`
  return `${shadow(210)}${tail}${leg(limb(-38, far), phase + 0.5, reach, 12)}${leg(limb(62, far), phase, reach, 12)}${shape('M-76 -106C-50 -128 44 -128 82 -116C98 -100 94 -62 80 -54C40 -44 -40 -44 -62 -54C-82 -68 -86 -94 -76 -106Z', coat)}${shape('M-62 -60C-30 -46 36 -46 72 -58C40 -36 -40 -36 -62 -60Z', pale)}${marks.body}${leg(limb(-52, coat), phase, reach, 12)}${leg(limb(72, coat), phase + 0.5, reach, 12)}<g transform="translate(0 ${nod.toFixed(1)})">${head}</g>`
}

export function drawLion(look: Look): string {
  const coat = look.lit(look.colour)
  const mane = darker(mix(coat, '#8a4a1c', 0.55), 0.12)
  let locks = ''
  for (let lock = 0; lock < 14; lock++) {
    const angle = (Math.PI * 2 * lock) / 14
    const far = 44 + 2 * wave(look.phase, lock / 14)
    locks += circle(-86 + Math.cos(angle) * far, -124 + Math.sin(angle) * far, 20, mane)
  }
  return bigCat(look, coat, { body: '', back: locks + circle(-86, -124, 50, mane), front: '' })
}

export function drawTiger(look: Look): string {
  const coat = look.lit(look.colour)
  const stripe = look.lit('#2a2022')
  const body = line(
    'M-40 -120Q-46 -96 -38 -78M-16 -124Q-22 -98 -14 -80M10 -124Q4 -100 12 -82M36 -122Q30 -98 38 -80M60 -119Q54 -98 60 -82M80 -110Q74 -92 80 -76',
    stripe,
    6,
  )
  const front = line(
    'M-92 -158V-146M-102 -157L-100 -146M-82 -157L-84 -146M-60 -130L-70 -127M-58 -118L-68 -117M-62 -106L-71 -108',
    stripe,
    4.4,
  )
  return bigCat(look, coat, { body, back: '', front })
}

export function drawFox({ colour, lit, phase, going }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.26)
  const white = lit('#f6efe4')
  const sock = lit('#3a2a2a')
  const reach = going ? 0.6 : 0
  const limb = (x: number, shade: string) => ({
    ...{ x, y: -46, length: 44, width: 12, colour: shade, foot: sock },
  })
  const bob = going ? 3 * wave(phase, 0, 2) : 0
  const tail = rotated(
    (going ? 8 : 12) * wave(phase),
    52,
    -66,
    `${shape('M48 -72C84 -96 132 -90 142 -58C146 -36 128 -20 112 -26C88 -30 66 -44 48 -58Z', coat)}${shape('M142 -58C146 -36 128 -20 112 -26C120 -36 126 -46 126 -62C132 -66 138 -64 142 -58Z', white)}`,
  )
  const head = `${shape('M-96 -118L-104 -154L-76 -128Z', coat)}${shape('M-70 -126L-56 -156L-50 -118Z', coat)}${shape('M-68 -127L-58 -147L-55 -124Z', sock)}${shape('M-104 -112C-96 -132 -60 -132 -50 -110C-46 -92 -58 -80 -74 -78L-122 -84C-128 -88 -126 -94 -120 -96Z', coat)}${shape('M-122 -84C-128 -88 -126 -94 -120 -96C-100 -98 -84 -92 -70 -80L-74 -78Z', white)}${ellipse(-122, -91, 6.5, 5.4, '#1b191c')}${circle(-88, -106, 4.4, '#17151a')}${circle(-89.4, -107.4, 1.5, '#ffffff')}`
  return `${shadow(150)}<g transform="translate(0 ${bob.toFixed(1)})">${tail}${leg(limb(-32, far), phase + 0.5, reach)}${leg(limb(38, far), phase, reach)}${shape('M-56 -84C-26 -92 28 -90 52 -78C62 -64 56 -46 42 -42C8 -34 -20 -34 -42 -40C-62 -48 -66 -72 -56 -84Z', coat)}${shape('M-60 -84C-66 -64 -56 -46 -38 -42C-40 -58 -46 -72 -52 -84Z', white)}${leg(limb(-42, coat), phase, reach)}${leg(limb(46, coat), phase + 0.5, reach)}${head}</g>`
}

/** Sits and looks at the viewer. */
export function drawMonkey({ colour, lit, phase }: Look): string {
  const coat = lit(colour)
  const dark = darker(coat, 0.22)
  const skin = lit('#e9bf97')
  const blink = phase > 0.46 && phase < 0.54
  const scratch = 10 * wave(phase, 0, 2)
  const tail = line(`M40 -22C84 -16 104 -52 ${92 + 5 * wave(phase)} -84C84 -104 66 -94 72 -78`, dark, 10)
  const eye = (x: number) =>
    blink
      ? line(`M${x - 6} -132Q${x} -128 ${x + 6} -132`, '#3a2620', 2.4)
      : circle(x, -133, 5.4, '#1b1618') + circle(x - 1.6, -135, 1.8, '#ffffff')
  const arm = (side: number, degrees: number) =>
    rotated(
      degrees * side,
      side * 30,
      -92,
      `${line(`M${side * 30} -90Q${side * 56} -66 ${side * 46} -36`, coat, 17)}${circle(side * 45, -32, 10, skin)}`,
    )
  return `${shadow(130)}${tail}${ellipse(0, -54, 42, 50, coat)}${ellipse(0, -48, 26, 34, skin)}${ellipse(-34, -14, 28, 14, dark)}${ellipse(34, -14, 28, 14, dark)}${ellipse(-50, -10, 14, 9, skin)}${ellipse(50, -10, 14, 9, skin)}${arm(-1, 4)}${circle(-48, -132, 17, coat)}${circle(48, -132, 17, coat)}${circle(-48, -132, 10, skin)}${circle(48, -132, 10, skin)}${ellipse(0, -132, 46, 42, coat)}${ellipse(-15, -137, 19, 19, skin)}${ellipse(15, -137, 19, 19, skin)}${ellipse(0, -116, 30, 20, skin)}${eye(-15)}${eye(15)}${circle(-4, -121, 2, '#6a4030')}${circle(4, -121, 2, '#6a4030')}${line('M-14 -110Q0 -100 14 -110', '#6a3a30', 2.8)}${line('M-6 -172Q0 -184 8 -172', coat, 6)}${arm(1, -112 + scratch)}`
}

/** Stands and looks around; antlers only for a stag. */
export function drawDeer({ colour, lit, phase, going, word }: Look): string {
  const coat = lit(colour)
  const far = darker(coat, 0.26)
  const pale = lighter(coat, 0.55)
  const horn = lit('#8a6a48')
  const reach = going ? 0.55 : 0
  const limb = (x: number, shade: string) => ({
    ...{ x, y: -84, length: 80, width: 10, colour: shade, foot: darker(coat, 0.6) },
  })
  const nod = 3 * wave(phase, 0, going ? 2 : 1)
  const bob = going ? 4 * wave(phase, 0.1, 2) : 0
  const antlers =
    word === 'fawn' || word === 'doe'
      ? ''
      : line(
          'M-84 -204C-90 -230 -112 -236 -110 -262M-92 -224Q-78 -236 -84 -254M-76 -206C-66 -230 -46 -234 -46 -260M-66 -226Q-76 -238 -68 -254',
          horn,
          6,
        )
  const neck = shape('M-72 -112C-84 -140 -92 -164 -98 -184L-72 -196C-56 -170 -44 -148 -28 -128Z', coat)
  const head = `${antlers}${ellipse(-62, -196, 18, 8, far, 'transform="rotate(-24 -62 -196)"')}${shape('M-74 -206C-92 -212 -106 -200 -112 -190L-136 -172C-140 -162 -132 -156 -122 -158C-106 -160 -92 -166 -80 -174C-68 -184 -66 -200 -74 -206Z', coat)}${ellipse(-132, -167, 7, 6, '#1f191b')}${shape('M-124 -158C-108 -160 -94 -166 -84 -172C-92 -156 -110 -152 -124 -158Z', pale)}${circle(-100, -190, 4.6, '#17131a')}${circle(-101.4, -191.6, 1.5, '#ffffff')}`
  const spots = [-30, -6, 20, 44]
    .map((x, index) => circle(x, -118 + (index % 2) * 12, 4, pale, 'opacity="0.8"'))
    .join('')
  return `${shadow(170, -4)}<g transform="translate(0 ${bob.toFixed(1)})">${shape('M68 -126Q90 -134 86 -108L70 -104Z', pale)}${leg(limb(-44, far), phase + 0.35, reach, 7)}${leg(limb(48, far), phase + 0.1, reach, 7)}${shape('M-74 -122C-50 -136 34 -134 64 -128C82 -120 82 -98 68 -86C46 -78 30 -84 0 -82C-26 -80 -48 -80 -62 -88C-78 -98 -80 -112 -74 -122Z', coat)}${spots}${leg(limb(-54, coat), phase, reach, 7)}${leg(limb(58, coat), phase + 0.6, reach, 7)}${rotated(nod, -52, -118, neck + head)}</g>`
}

/** A friendly dinosaur with a long neck. */
export function drawDinosaur({ colour, lit, phase, going }: Look): string {
  const skin = lit(colour)
  const far = darker(skin, 0.25)
  const pale = lighter(skin, 0.45)
  const spot = darker(skin, 0.14)
  const reach = going ? 0.34 : 0
  const limb = (x: number, shade: string) => ({ x, y: -70, length: 64, width: 32, colour: shade })
  const sway = 3 * wave(phase)
  const tail = rotated(
    4 * wave(phase, 0.25),
    84,
    -98,
    shape('M70 -128C124 -122 170 -92 206 -44C156 -66 110 -68 74 -66Z', skin),
  )
  let spines = ''
  for (const [x, y] of [
    [-50, -132],
    [-18, -146],
    [18, -148],
    [52, -140],
  ] as const) {
    spines += shape(`M${x - 14} ${y + 8}L${x} ${y - 16}L${x + 14} ${y + 8}Z`, lit('#e8a24a'))
  }
  const neck = `${shape('M-74 -88C-96 -130 -112 -180 -120 -220L-84 -240C-72 -190 -56 -150 -18 -124Z', skin)}${ellipse(-112, -240, 36, 27, skin)}${ellipse(-134, -232, 24, 18, skin)}${circle(-106, -252, 7.5, '#ffffff')}${circle(-108, -252, 4, '#17151a')}${circle(-150, -236, 2.4, darker(skin, 0.6))}${line('M-152 -222Q-132 -212 -114 -220', darker(skin, 0.55), 2.6)}${ellipse(-96, -228, 6, 4, '#e8746c', 'opacity="0.5"')}`
  return `${shadow(300, 20)}${tail}${leg(limb(-36, far), phase + 0.5, reach, 8)}${leg(limb(58, far), phase, reach, 8)}${spines}${shape('M-78 -112C-56 -148 40 -150 78 -124C98 -100 92 -64 70 -56C30 -44 -40 -46 -62 -58C-82 -72 -90 -94 -78 -112Z', skin)}${shape('M-62 -58C-40 -46 30 -44 70 -56C40 -34 -36 -34 -62 -58Z', pale)}${circle(6, -112, 11, spot)}${circle(38, -96, 8, spot)}${circle(-24, -96, 8, spot)}${leg(limb(-52, skin), phase, reach, 8)}${leg(limb(66, skin), phase + 0.5, reach, 8)}${rotated(sway, -44, -110, neck)}`
}

export function drawShark({ colour, lit, phase }: Look): string {
  const skin = lit(colour)
  const dark = darker(skin, 0.2)
  const belly = lit('#eef2f4')
  const beat = 14 * wave(phase)
  const tail = rotated(
    beat,
    92,
    -4,
    shape(
      'M86 -10C112 -18 130 -46 150 -58C146 -30 142 -10 134 0C142 12 144 30 142 44C126 32 108 10 86 6Z',
      dark,
    ),
  )
  return `${tail}${shape('M-12 -32C2 -64 20 -78 40 -84C34 -62 36 -46 46 -28Z', dark)}${shape('M-150 0C-110 -40 -20 -46 40 -30C70 -22 90 -12 98 -2C70 10 40 26 -20 32C-80 34 -126 24 -150 0Z', skin)}${shape('M-150 0C-110 8 -30 12 98 -2C70 10 40 26 -20 32C-80 34 -126 24 -150 0Z', belly)}${rotated(beat * 0.3, -30, 16, shape('M-40 14C-36 40 -20 58 4 66C0 44 2 28 -4 14Z', dark))}${circle(-110, -12, 5.4, '#15131a')}${circle(-112, -13.6, 1.7, '#ffffff')}${line('M-140 10Q-122 20 -98 14', '#4a3a42', 2.6)}${line('M-70 -14Q-76 0 -70 12M-58 -14Q-64 0 -58 12M-46 -14Q-52 0 -46 12', dark, 3)}`
}

export function drawFrog({ colour, lit, phase }: Look): string {
  const skin = lit(colour)
  const dark = darker(skin, 0.24)
  const pale = mix(skin, '#f4f0c0', 0.6)
  const blink = phase > 0.44 && phase < 0.54
  const breath = 3 * wave(phase, 0, 2)
  const eye = (x: number) =>
    circle(x, -98, 19, skin) +
    (blink
      ? line(`M${x - 10} -98Q${x} -92 ${x + 10} -98`, dark, 3)
      : circle(x, -99, 13, '#fbf7e8') + ellipse(x, -99, 5, 8, '#17151a') + circle(x - 2, -103, 2, '#ffffff'))
  return `${shadow(170)}${ellipse(-58, -26, 30, 26, dark, 'transform="rotate(18 -58 -26)"')}${ellipse(58, -26, 30, 26, dark, 'transform="rotate(-18 58 -26)"')}${ellipse(0, -44, 58, 42 + breath * 0.4, skin)}${ellipse(0, -34, 40, 28 + breath, pale)}${shape('M-92 -4Q-80 -18 -56 -10L-44 -2H-92Z', dark)}${shape('M92 -4Q80 -18 56 -10L44 -2H92Z', dark)}${box(-32, -40, 15, 38, skin, 7)}${box(17, -40, 15, 38, skin, 7)}${ellipse(-26, -3, 17, 6, skin)}${ellipse(26, -3, 17, 6, skin)}${ellipse(0, -74, 54, 30, skin)}${eye(-28)}${eye(28)}${line('M-38 -68Q0 -46 38 -68', darker(skin, 0.55), 3)}${circle(-6, -78, 1.8, dark)}${circle(6, -78, 1.8, dark)}`
}
