/** A hundred texts that would run a script, or add an element, where they are used as markup. */

/** Would be visible in the page's `window`. */
const run = 'window.planted=1'

const vectors = [
  `<script data-planted>${run}</script>`,
  `<img data-planted src=x onerror=${run}>`,
  `<svg data-planted onload=${run}>`,
  `<svg data-planted><script>${run}</script></svg>`,
  `<body data-planted onload=${run}>`,
  `<iframe data-planted srcdoc="<script>parent.${run}</script>">`,
  `<iframe data-planted src="javascript:parent.${run}">`,
  `<a data-planted href="javascript:${run}">open</a>`,
  `<details data-planted open ontoggle=${run}>`,
  `<input data-planted autofocus onfocus=${run}>`,
  `<video data-planted src=x onerror=${run}></video>`,
  `<audio data-planted src=x onerror=${run}></audio>`,
  `<math data-planted><mtext onmouseover=${run}>x</mtext></math>`,
  `<object data-planted data="javascript:${run}"></object>`,
  `<embed data-planted src="javascript:${run}">`,
  `<form data-planted action="javascript:${run}"><button>x</button></form>`,
  `<style data-planted>*{background:url(//evil.example/x)}</style>`,
  `<link data-planted rel=stylesheet href=//evil.example/x.css>`,
  `<meta data-planted http-equiv=refresh content="0;url=//evil.example">`,
  `<base data-planted href=//evil.example/>`,
  `<img data-planted src=//evil.example/pixel.png>`,
  `javascript:${run}//`,
  `{{constructor.constructor('${run}')()}}`,
  '${' + run + '}',
  `[click](javascript:${run})`,
]

/** What would end the place where the text is. */
const endings = ['', '">', `'></script></style>`, '</textarea></title>--><!-- -->']

export const markup: string[] = endings.flatMap((ending) => vectors.map((vector) => ending + vector))
