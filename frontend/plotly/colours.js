// The colours that CSS has in sRGB, which is all that pages use: culori without the other thirty spaces.
import { modeHsl, modeLrgb, modeRgb, useMode } from "culori/fn";

useMode(modeRgb);
useMode(modeLrgb);
useMode(modeHsl);
export { converter, formatHex, formatRgb, wcagContrast, wcagLuminance } from "culori/fn";
