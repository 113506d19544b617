<?php
usleep(20000);
echo "done\n";
