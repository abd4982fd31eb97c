import { mix } from '../drawing/colour.ts'
import {
  box,
  circle,
  darker,
  ellipse,
  lighter,
  line,
  rotated,
  shadow,
  shape,
  wave,
  wheel,
  type Look,
} from '../drawing/pen.ts'

const tyre = '#22232a'

export function drawCar({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const glass = lit('#bfe2f0')
  const wheels =
    wheel(-74, -22, 24, phase, lit(tyre), lit('#c9ced6')) +
    wheel(78, -22, 24, phase, lit(tyre), lit('#c9ced6'))
  const bounce = 0.8 * wave(phase)
  return `${shadow(280)}<g transform="translate(0 ${bounce.toFixed(1)})">${shape('M-132 -24Q-140 -56 -120 -62L-70 -70L-38 -106Q-30 -114 -16 -114H46Q62 -114 72 -104L98 -70Q128 -66 132 -50L134 -24Q132 -18 124 -18H-124Q-132 -18 -132 -24Z', paint)}${shape('M-132 -38H134V-24Q132 -18 124 -18H-124Q-132 -18 -132 -24Z', darker(paint, 0.22))}${shape('M-56 -70L-30 -100Q-26 -104 -18 -104H4V-70Z', glass)}${shape('M14 -104H44Q54 -104 60 -97L80 -70H14Z', glass)}${shape('M-46 -72L-22 -102H-12L-34 -72ZM26 -72L38 -104H46L36 -72Z', '#ffffff', 'opacity="0.4"')}${line('M9 -68V-26M-60 -66Q-62 -40 -52 -26M84 -66Q88 -50 80 -40', darker(paint, 0.35), 2)}${box(18, -62, 18, 5, darker(paint, 0.4), 2)}${ellipse(-128, -50, 7, 9, lit('#fff3b8'))}${ellipse(130, -48, 5, 9, lit('#e2483d'))}${box(-140, -32, 18, 8, lit('#c9ced6'), 3)}${box(122, -32, 18, 8, lit('#c9ced6'), 3)}</g>${circle(-74, -22, 28, darker(paint, 0.55))}${circle(78, -22, 28, darker(paint, 0.55))}${wheels}`
}

export function drawBus({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const glass = lit('#bfe2f0')
  let windows = ''
  for (let index = 0; index < 5; index++) windows += box(-92 + index * 48, -132, 40, 40, glass, 6)
  const wheels =
    wheel(-92, -24, 26, phase, lit(tyre), lit('#c9ced6')) +
    wheel(94, -24, 26, phase, lit(tyre), lit('#c9ced6'))
  return `${shadow(340)}${shape('M-166 -26V-88Q-164 -96 -154 -98L-140 -100V-136Q-138 -150 -122 -150H150Q166 -150 166 -134V-26Q166 -20 158 -20H-158Q-166 -20 -166 -26Z', paint)}${box(-166, -72, 332, 8, darker(paint, 0.7))}${box(-166, -54, 332, 5, darker(paint, 0.7))}${box(-136, -134, 34, 50, glass, 5)}${windows}${ellipse(-160, -46, 7, 9, lit('#fff3b8'))}${box(156, -56, 10, 18, lit('#e2483d'), 3)}${box(-172, -30, 22, 9, lit('#4a4d57'), 3)}${circle(-92, -24, 31, darker(paint, 0.5))}${circle(94, -24, 31, darker(paint, 0.5))}${wheels}`
}

export function drawTruck({ colour, lit, phase, word }: Look): string {
  const paint = lit(colour)
  const glass = lit('#bfe2f0')
  const isFire = word.startsWith('fire')
  const load = isFire
    ? `${box(-66, -104, 224, 76, paint, 6)}${box(-50, -84, 90, 34, lit('#d9dde3'), 4)}${line('M-60 -118H160M-60 -130H160M-40 -118V-130M-10 -118V-130M20 -118V-130M50 -118V-130M80 -118V-130M110 -118V-130M140 -118V-130', lit('#d9dde3'), 4)}${box(-110, -142, 22, 12, lit('#3f7be0'), 4)}`
    : `${box(-62, -138, 220, 112, lighter(paint, 0.5), 6)}${line('M-62 -110H158M-62 -82H158M-62 -54H158', mix(paint, '#ffffff', 0.3), 2)}`
  return `${shadow(340)}${load}${shape('M-160 -28V-74Q-158 -82 -148 -86L-134 -124Q-130 -132 -120 -132H-72V-28Z', paint)}${shape('M-142 -86L-128 -118Q-126 -122 -120 -122H-88V-86Z', glass)}${box(-166, -40, 330, 16, darker(paint, 0.5), 4)}${ellipse(-156, -58, 6, 8, lit('#fff3b8'))}${wheel(-112, -24, 25, phase, lit(tyre), lit('#c9ced6'))}${wheel(54, -24, 25, phase, lit(tyre), lit('#c9ced6'))}${wheel(116, -24, 25, phase, lit(tyre), lit('#c9ced6'))}`
}

/** A steam engine with smoke and two carriages. */
export function drawTrain({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const black = lit('#2c2d35')
  const brass = lit('#e0b04a')
  const glass = lit('#f5e7b0')
  let smoke = ''
  for (let puff = 0; puff < 4; puff++) {
    const age = (puff + phase) / 4
    smoke += circle(
      -196 + 130 * age,
      -128 - 62 * age ** 0.7,
      9 + 24 * age,
      '#f3f1ee',
      `opacity="${(0.8 * (1 - age) ** 0.8).toFixed(2)}"`,
    )
  }
  const carriage = (x: number) => {
    let windows = ''
    for (let index = 0; index < 4; index++) windows += box(x + 12 + index * 34, -86, 24, 28, glass, 4)
    return `${box(x, -100, 150, 78, paint, 8)}${box(x, -50, 150, 8, lighter(paint, 0.4))}${box(x - 4, -108, 158, 12, darker(paint, 0.5), 6)}${windows}${line(`M${x - 16} -28H${x}`, black, 6)}${wheel(x + 30, -16, 16, phase, black, lit('#9aa0aa'))}${wheel(x + 120, -16, 16, phase, black, lit('#9aa0aa'))}`
  }
  const rod = { x: Math.cos(-phase * Math.PI * 0.4) * 9, y: Math.sin(-phase * Math.PI * 0.4) * 9 }
  const engine = `${shape('M-252 -8L-226 -36H-204V-8Z', lit('#b3392f'))}${box(-232, -92, 146, 54, darker(paint, 0.12), 22)}${line('M-196 -92V-38M-156 -92V-38M-118 -92V-38', brass, 4)}${circle(-228, -65, 27, black)}${circle(-228, -65, 10, brass)}${shape('M-210 -90V-120H-216L-212 -132H-180L-176 -120H-182V-90Z', black)}${shape('M-152 -92Q-152 -112 -138 -112Q-124 -112 -124 -92Z', brass)}${box(-100, -124, 72, 88, paint, 6)}${box(-110, -136, 92, 14, darker(paint, 0.5), 6)}${box(-86, -112, 34, 34, glass, 5)}${box(-232, -42, 206, 14, black, 3)}${wheel(-192, -22, 22, phase, black, lit('#c0392f'))}${wheel(-142, -22, 22, phase, black, lit('#c0392f'))}${wheel(-66, -26, 26, phase, black, lit('#c0392f'))}${line(`M${-192 + rod.x} ${-22 + rod.y}L${-66 + rod.x} ${-24 + rod.y}`, lit('#c9ced6'), 5)}${circle(-238, -90, 8, lit('#fff3b8'))}`
  return `${carriage(152)}${carriage(-12)}${engine}${smoke}`
}

export function drawBoat({ colour, lit, phase, palette }: Look): string {
  const hull = lit(colour)
  const sail = mix(lit('#fbf6ea'), palette.light, 0.25)
  const belly = 5 * wave(phase)
  return `${shape('M-84 14Q0 26 90 14L62 62Q4 84 -50 60Z', darker(hull, 0.4), 'opacity="0.26"')}${line('M4 -14V-190', lit('#6d4a2f'), 6)}${shape(`M12 -184Q${88 + belly} -96 ${84 + belly} -26H12Z`, sail)}${shape(`M-4 -168Q${-50 - belly} -84 -78 -26H-4Z`, mix(sail, palette.far, 0.22))}${shape('M4 -190L34 -180L4 -170Z', lit('#d8433a'))}${shape('M-100 -16Q-88 22 -54 24H60Q88 20 104 -22Q0 -8 -100 -16Z', hull)}${shape('M-100 -16Q0 -8 104 -22L101 -12Q0 4 -97 -6Z', lighter(hull, 0.55))}${line('M-112 22Q-60 30 -10 24T116 22', '#ffffff', 3, 'stroke-opacity="0.5"')}`
}

/** Upright, with a flickering flame. */
export function drawRocket({ colour, lit, phase }: Look): string {
  const fin = lit(colour)
  const body = lit('#f2f3f6')
  const reach = 62 + 16 * wave(phase, 0, 2) + 8 * wave(phase, 0.3, 5)
  const flame = (width: number, length: number, tone: string) =>
    shape(
      `M${-width} -44Q${-width * 1.2} ${-44 + length * 0.4} ${4 * wave(phase, 0.1, 3)} ${-44 + length}Q${width * 1.2} ${-44 + length * 0.4} ${width} -44Z`,
      tone,
    )
  return `${flame(30, reach * 1.5, '#ff7a2c')}${flame(21, reach * 1.05, '#ffc23e')}${flame(11, reach * 0.6, '#fff6d6')}${shape('M-34 -112C-64 -96 -72 -70 -70 -36L-34 -58Z', fin)}${shape('M34 -112C64 -96 72 -70 70 -36L34 -58Z', fin)}${shape('M-28 -54H28L22 -40H-22Z', lit('#7c828e'))}${shape('M0 -258C34 -226 44 -180 42 -132C41 -100 36 -72 30 -52H-30C-36 -72 -41 -100 -42 -132C-44 -180 -34 -226 0 -258Z', body)}${shape('M0 -258C34 -226 44 -180 42 -132C41 -100 36 -72 30 -52H10C22 -110 22 -200 0 -258Z', darker(body, 0.16))}${shape('M0 -258C16 -243 27 -225 34 -204H-34C-27 -225 -16 -243 0 -258Z', fin)}${circle(0, -164, 23, lit('#7c828e'))}${circle(0, -164, 17, lit('#7fc4ea'))}${shape('M-12 -168Q-8 -178 2 -178', '#ffffff', 'opacity="0.6"')}${box(-36, -104, 72, 9, fin)}${shape('M-7 -100H7L5 -42H-5Z', darker(fin, 0.2))}`
}

export function drawPlane({ colour, lit, phase }: Look): string {
  const body = lit('#f4f5f8')
  const paint = lit(colour)
  let windows = ''
  for (let index = 0; index < 7; index++) windows += circle(-64 + index * 22, -10, 5, lit('#6f9fc4'))
  return `<g transform="rotate(4)">${shape('M20 -8L86 -66H112L74 -6Z', darker(body, 0.2))}${shape('M104 -10L134 -62H156L146 -4Z', paint)}${shape('M-142 2C-140 -20 -112 -28 -80 -28H120C148 -26 156 -16 150 -6C136 14 60 24 -60 24C-112 24 -140 18 -142 2Z', body)}${shape('M-138 12C-112 18 60 20 146 0C130 16 56 24 -60 24C-108 24 -132 20 -138 12Z', paint)}${shape('M-128 -12Q-118 -24 -100 -24V-10Z', lit('#7fb6dc'))}${windows}${shape('M6 4L70 72H98L64 2Z', darker(body, 0.1))}${ellipse(34, 44 + wave(phase) * 0.6, 18, 8, paint)}</g>`
}

export function drawBicycle({ colour, lit, phase: loop, going }: Look): string {
  const phase = going ? loop : 0
  const frame = lit(colour)
  const ring = (x: number) => {
    let spokes = ''
    for (let spoke = 0; spoke < 8; spoke++) {
      const angle = (Math.PI / 4) * (spoke - phase)
      spokes += `M${x} -40L${(x + Math.cos(angle) * 36).toFixed(1)} ${(-40 + Math.sin(angle) * 36).toFixed(1)}`
    }
    return `<circle cx="${x}" cy="-40" r="38" fill="none" stroke="${lit('#22232a')}" stroke-width="6"/>${line(spokes, lit('#b9c0c8'), 1.4)}${circle(x, -40, 5, lit('#6b717c'))}`
  }
  return `${shadow(210)}${ring(-66)}${ring(66)}${line('M-66 -40L-44 -104L40 -104L4 -40ZM-44 -104L4 -40M40 -104L66 -40L4 -40', frame, 7)}${line('M-50 -122L-44 -104M-50 -122L-68 -126', lit('#5a5f69'), 6)}${line('M40 -104L44 -116', lit('#5a5f69'), 6)}${shape('M24 -122Q46 -128 66 -120Q54 -112 34 -114Z', lit('#3a2f2b'))}${circle(4, -40, 11, lit('#5a5f69'))}${line(`M4 -40L${(4 + 16 * Math.cos(phase * Math.PI * 0.5)).toFixed(1)} ${(-40 + 16 * Math.sin(phase * Math.PI * 0.5)).toFixed(1)}`, lit('#3c4049'), 4)}`
}

export function drawMotorcycle({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const steel = lit('#aab2bd')
  const dark = lit('#24262e')
  return `${shadow(230)}${wheel(-78, -40, 40, phase, dark, steel)}${wheel(82, -40, 40, phase, dark, steel)}${line('M-78 -40L-56 -120', steel, 9)}${line('M82 -40L20 -52L-30 -60', dark, 12)}${box(-26, -72, 58, 40, lit('#6a717c'), 8)}${circle(2, -52, 15, steel)}${line('M20 -38H110L128 -46', steel, 9)}${shape('M-58 -112C-40 -128 -6 -126 8 -108L20 -88C2 -76 -30 -76 -48 -86Z', paint)}${shape('M-52 -106C-40 -118 -18 -118 -4 -108C-18 -102 -36 -100 -52 -106Z', lighter(paint, 0.4))}${shape('M10 -104C34 -112 68 -112 104 -122C106 -106 92 -92 70 -90L22 -86Z', dark)}${shape('M58 -92C84 -96 104 -90 116 -74L96 -70C86 -80 72 -84 58 -84Z', paint)}${line('M-56 -120L-44 -140L-24 -138', steel, 6)}${line('M-30 -139L-18 -137', dark, 9)}${shape('M-82 -128Q-66 -136 -58 -122Q-62 -106 -76 -108Z', lit('#fff2c4'))}${shape('M-118 -66C-110 -88 -84 -94 -60 -84C-78 -82 -98 -78 -110 -62Z', paint)}`
}

export function drawHelicopter({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const dark = darker(paint, 0.3)
  const glass = lit('#bfe3f2')
  const metal = lit('#4a515c')
  // The blades never appear shorter than this, because they would vanish for a frame.
  const reach = 40 + 116 * Math.abs(wave(phase))
  const spin = phase * 360
  return `${shape('M48 -34L176 -52L180 -30L60 -2Z', paint)}${shape('M164 -50L184 -92L198 -90L186 -34Z', dark)}${rotated(spin, 190, -62, line('M190 -86V-38', metal, 5) + line('M166 -62H214', metal, 5))}${line('M-44 30L-52 52M36 30L44 52', metal, 6)}${line('M-96 48Q-100 56 -86 56H72', metal, 7)}${shape('M-96 0C-96 -44 -58 -62 -14 -62C34 -62 70 -44 72 -10C72 22 40 34 -10 34C-64 34 -96 28 -96 0Z', paint)}${shape('M-90 -4C-88 -36 -62 -50 -30 -52V-6Z', glass)}${box(-20, -50, 42, 40, glass, 8)}${shape('M-94 6H72C70 26 40 34 -10 34C-60 34 -90 28 -94 6Z', dark)}${box(-10, -84, 16, 24, metal, 3)}${line(`M${-2 - reach} -86H${-2 + reach}`, metal, 7)}${circle(-2, -86, 8, dark)}`
}
