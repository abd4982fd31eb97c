/** An everyday prompt, and what its video must show. */
export interface EverydayPrompt {
  prompt: string
  shape: 'wide' | 'upright' | 'square'
  /** Names from the table of subjects, with their number if there are several; `title` for a title card. */
  shows: string
  /** The place, if the video has one. */
  setting?: string
  treatment?: string
}

const row = (
  prompt: string,
  shape: EverydayPrompt['shape'],
  shows: string,
  setting?: string,
  treatment?: string,
): EverydayPrompt => ({
  ...{ prompt, shape, shows },
  ...(setting !== undefined && { setting }),
  ...(treatment !== undefined && { treatment }),
})

/** Half in English, half in Chinese; with and without a known subject, in all formats. */
export const everydayPrompts: EverydayPrompt[] = [
  row('a panda eating bamboo', 'wide', 'panda', 'forest'),
  row('a golden retriever puppy playing in the park', 'wide', 'dog', 'meadow'),
  row('a violinist playing on a rooftop at sunset', 'upright', 'title'),
  row('a cup of coffee on a wooden table', 'wide', 'cup', 'room'),
  row('a busy street in Tokyo at night, neon lights', 'upright', '', 'city'),
  row('noodles pulled by hand', 'square', 'title'),
  row('a lion walking through the savanna', 'wide', 'lion', 'meadow'),
  row('a fox in the snow', 'upright', 'fox', 'meadow'),
  row('fireworks over the city', 'wide', 'fireworks', 'city'),
  row('an old man by a lake, in black and white', 'wide', 'person', 'water', 'blackAndWhite'),
  row('a teaser for the launch of our new phone', 'wide', 'title'),
  row('a woman with a red umbrella in the rain', 'upright', 'person, umbrella', 'meadow'),
  row('ocean waves at dawn', 'wide', '', 'water'),
  row('a dinosaur in the jungle, sepia', 'wide', 'dinosaur', 'forest', 'sepia'),
  row('our quarterly results in ninety seconds', 'upright', 'title'),
  row('一只大熊猫在竹林里吃竹子', 'wide', 'panda', 'forest'),
  row('一列火车穿过雪山', 'wide', 'train', 'mountains'),
  row('一个女孩撑着雨伞走在雨中', 'upright', 'child, umbrella', 'meadow'),
  row('热狗和薯条', 'wide', 'title'),
  row('两只小猫在沙发上', 'wide', '2 cat', 'room'),
  row('一匹白马在草原上奔跑', 'wide', 'horse', 'meadow'),
  row('小提琴手在森林里演奏', 'upright', 'title'),
  row('夕阳下的大海', 'square', '', 'water'),
  row('城市夜景，霓虹灯闪烁', 'upright', '', 'city'),
  row('黑白电影风格的街道', 'wide', '', 'city', 'blackAndWhite'),
  row('人工智能改变生活', 'square', 'title'),
  row('一只老虎在森林里散步', 'wide', 'tiger', 'forest'),
  row('孩子们在放风筝', 'wide', '3 child, kite', 'meadow'),
  row('春节快乐，万事如意', 'upright', 'title'),
  row('烟花照亮夜空', 'upright', 'fireworks', 'city'),
]
